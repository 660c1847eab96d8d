/** Returns an address for messages: without user, password, query and fragment. */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) return 'an invalid address'
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname}`
}

/** Replaces the token in text of the gateway. */
export function conceal(text: string, token: string | undefined): string {
  return token === undefined || token === '' ? text : text.replaceAll(token, '***')
}
