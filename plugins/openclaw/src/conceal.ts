/** Returns an address for messages: without user, password, query and fragment. */
export function shownAddress(address: string): string {
  if (!URL.canParse(address)) return 'an address that cannot be read'
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname}`
}

/** A text of the gateway, which may have the token in it. */
export function conceal(text: string, token: string | undefined): string {
  return token === undefined || token === '' ? text : text.replaceAll(token, '***')
}
