// Prices, for the page.

export function shown(cents) {
  return `${Math.floor(cents / 100)}.${cents % 100} €`;
}
