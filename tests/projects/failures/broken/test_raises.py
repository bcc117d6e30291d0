from shop import prices

prices.price("at import")
