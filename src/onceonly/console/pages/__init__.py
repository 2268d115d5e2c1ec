"""The pages: each a function of a visit, which asks the API and says what is shown."""
