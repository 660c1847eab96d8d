import { type CslItem, doiOf, yearOf } from '../work.ts'
import { texAddress } from './address.ts'

type Escape = (text: string) => string

/** Returns the keys of `\bibitem` for the ids of the items: letters, digits, `.`, `:` and `-`, each once. */
export function bibliographyKeys(citations: readonly CslItem[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  const used = new Set<string>()
  for (const { id } of citations) {
    if (keys.has(id)) continue
    const base = id.replace(/[^A-Za-z0-9.:-]/g, '-').slice(0, 60)
    let key = base
    for (let count = 2; used.has(key); count++) key = `${base}-${count}`
    used.add(key)
    keys.set(id, key)
  }
  return keys
}

/** Returns the environment `thebibliography`. `escaped` escapes text for LaTeX. */
export function bibliography(citations: readonly CslItem[], escaped: Escape): string {
  const keys = bibliographyKeys(citations)
  const unique = citations.filter(({ id }, index) => citations.findIndex(each => each.id === id) === index)
  const items = unique.map(item => `\\bibitem{${keys.get(item.id)}} ${entry(item, escaped)}`)
  return ['\\begin{thebibliography}{999}', ...items, '\\end{thebibliography}'].join('\n')
}

function entry(item: CslItem, escaped: Escape): string {
  const text = (value: string | null | undefined): string | null => (value ? escaped(value) : null)
  const authors = (item.author ?? []).map(
    ({ family, given, literal }) => literal ?? [given, family].filter(Boolean).join(' ')
  )
  const container = text(item['container-title'])
  const volume =
    item.volume === undefined ? null : item.issue === undefined ? item.volume : `${item.volume}(${item.issue})`
  const parts = [
    text(authors.filter(name => name !== '').join(', ')),
    text(item.title),
    container === null ? null : `\\emph{${container}}`,
    text(
      volume === null && item.page !== undefined ? `pp. ${item.page}` : [volume, item.page].filter(Boolean).join(':')
    ),
    text(item.publisher),
    text(yearOf(item)),
    address(item, escaped)
  ]
  return parts.filter(part => part !== null).join('. ') || '~'
}

function address({ DOI, URL: url }: CslItem, escaped: Escape): string | null {
  const doi = doiOf(DOI)
  const target = texAddress(doi === null ? (url ?? '') : `https://doi.org/${doi}`)
  if (target === null) return null
  return `\\href{${target}}{\\texttt{${escaped(doi === null ? (url ?? '') : `doi:${doi}`)}}}`
}
