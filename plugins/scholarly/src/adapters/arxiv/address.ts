/** Returns an address for `\href`, or null if it is not one of the web or of mail. */
export function texAddress(href: string): string | null {
  if (!URL.canParse(href)) return null
  const url = new URL(href)
  if (!['http:', 'https:', 'mailto:'].includes(url.protocol) || url.href.length > 2_000) return null
  const encoded = url.href.replace(/[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]/g, found => encodeURIComponent(found))
  return encoded.replace(/[~$[\]']/g, percent).replace(/[%#&_]/g, found => `\\${found}`)
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
