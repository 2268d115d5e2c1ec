# One gateway in a container: docs/how-to/container.md. `make image` builds it.

FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/gateway.lock requirements/build.lock requirements/
RUN python -m venv /opt/onceonly
RUN /opt/onceonly/bin/python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements/gateway.lock
RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m hatchling build -t wheel -d dist
RUN /opt/onceonly/bin/python -m pip install --no-deps --no-index dist/onceonly-*.whl

FROM python:3.11-slim
# A number of its own, so that a volume that another machine made can be given to it by number.
RUN useradd --system --uid 8400 --home-dir /var/lib/onceonly --create-home onceonly \
    && chmod 0750 /var/lib/onceonly
COPY --from=build /opt/onceonly /opt/onceonly
ENV PATH=/opt/onceonly/bin:$PATH
# Where the health check finds the API, as seen from inside.
ENV ONCEONLY_API=http://127.0.0.1:8411
USER onceonly
WORKDIR /var/lib/onceonly
VOLUME /var/lib/onceonly
EXPOSE 8401
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "import os; from onceonly.client import Client; Client(os.environ['ONCEONLY_API']).health()"]
ENTRYPOINT ["onceonly"]
CMD ["serve", "-c", "/etc/onceonly/gateway.toml"]
