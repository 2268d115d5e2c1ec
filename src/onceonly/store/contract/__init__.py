"""What a store promises: the contract, its values, and what it raises."""
