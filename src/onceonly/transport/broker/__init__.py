"""Packages through a broker (AMQP), both ways: `client.py` publishes, `consumer.py` takes."""
