"""Turn received orders (UBL) into rows of a Parquet table, with Spark, each order once.

    python examples/inbox_to_table.py http://127.0.0.1:8412 orders checkpoints/orders

Run it as often as you like: it goes on where the checkpoint is, and ends when all is read.
"""

import sys

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F


def value(*names: str) -> Column:
    """The text of the element that these names lead to, below the document's own."""
    path = "/*" + "".join(f"/*[local-name()='{name}']" for name in names) + "/text()"
    return F.xpath_string("payload", F.lit(path))


def main(api: str, table: str, checkpoint: str) -> None:
    """One run over what is new."""
    spark = SparkSession.builder.appName("orders").getOrCreate()
    inbox = spark.readStream.format("onceonly").option("api", api).option("payload", "text").load()
    party = ("BuyerCustomerParty", "Party", "PartyName", "Name")
    orders = inbox.where("service = 'Ordering' AND action = 'NewOrder'").select(
        "offset",
        "message_id",
        F.timestamp_micros("received_at").alias("received_at"),
        value("ID").alias("order_id"),
        value("IssueDate").cast("date").alias("issued"),
        value(*party).alias("buyer"),
        value("AnticipatedMonetaryTotal", "PayableAmount").cast("decimal(18,2)").alias("payable"),
    )
    to_table = orders.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    to_table.trigger(availableNow=True).start(table).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
