const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/**
 * Returns whether an archive stores a title. Archives change titles: Zenodo repairs text with the Python library ftfy,
 * which makes quotation marks straight, and OSF removes tags and escapes `&`.
 */
export function isSameTitle(stored: string, planned: string): boolean {
  return keyOf(stored) === keyOf(planned)
}

function keyOf(title: string): string {
  return title
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .normalize('NFKC')
    .replace(/[‘’‚‛]/g, "'")
    .replace(/[“”„‟]/g, '"')
    .replace(/[\u200b\p{Cc}]/gu, found => (/\s/.test(found) ? ' ' : ''))
    .replace(/\s+/g, ' ')
    .trim()
}
