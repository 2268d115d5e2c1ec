"""The sending side: from the application's hand to a verdict."""
