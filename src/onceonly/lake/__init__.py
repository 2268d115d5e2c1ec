"""The lake: both parties' journals matched, message by message, on Spark.

Knows the journal's rows and what they prove. It must not know gateways, stores or wires. Pure
`DataFrame -> DataFrame` functions stand around one runner that does every read and write.
Nothing is imported here, so that the rest of the product starts without Spark.
"""
