import { type CslItem, doiOf, yearOf } from '../work.ts'
import { truncated } from './contributors.ts'
import { allowed, element, type XmlElement } from './xml.ts'

/** Types of CSL-JSON as citation types of the deposit schema. */
const TYPES: Readonly<Record<string, string>> = {
  'article-journal': 'journal_article',
  article: 'preprint',
  book: 'book',
  chapter: 'book_chapter',
  collection: 'collection',
  dataset: 'dataset',
  'paper-conference': 'conference_paper',
  patent: 'patent',
  post: 'blog_post',
  'post-weblog': 'blog_post',
  report: 'report',
  review: 'peer_review',
  software: 'software',
  standard: 'standard',
  thesis: 'dissertation',
  webpage: 'web_resource'
}

const BOOK_TYPES = new Set(['book', 'collection'])
const PART_TYPES = new Set(['chapter', 'paper-conference'])

/** Returns `<citation_list>`, or null without citations. Items with the same id are listed once. */
export function citationList(citations: readonly CslItem[]): XmlElement | null {
  const unique = new Map<string, CslItem>()
  for (const item of citations) {
    const key = truncated(allowed(item.id).replace(/\s+/g, ' ').trim(), 128)
    if (key !== '' && !unique.has(key)) unique.set(key, item)
  }
  if (unique.size === 0) return null
  return element('citation_list', {}, ...[...unique].map(([key, item]) => citation(key, item)))
}

function citation(key: string, item: CslItem): XmlElement {
  const { title, type = '' } = item
  const container = item['container-title']
  const kind = TYPES[type]
  const isBook = BOOK_TYPES.has(type)
  const isPart = PART_TYPES.has(type)
  const author = item.author?.[0]
  const doi = doiOf(item.DOI)
  const fields: readonly (XmlElement | null)[] = [
    field('issn', /^\d{4}-?\d{3}[\dX]$/.test(item.ISSN ?? '') ? item.ISSN : undefined),
    field('journal_title', isPart || isBook ? undefined : container),
    field('author', author?.family ?? author?.literal),
    field('volume', item.volume, 32),
    field('issue', item.issue, 32),
    field('first_page', item.page?.split(/[-–,]/)[0]?.trim(), 32),
    field('cYear', yearOf(item) ?? undefined),
    doi === null ? null : element('doi', {}, doi),
    field('isbn', isIsbn(item.ISBN) ? item.ISBN : undefined),
    field('volume_title', isBook ? title : isPart ? container : undefined),
    field('article_title', isBook ? undefined : title)
  ]
  const known = fields.filter(each => each !== null)
  const isFindable = doi !== null || known.length >= 2
  const rest = isFindable
    ? null
    : field('unstructured_citation', [title, container, item.publisher, item.URL].filter(Boolean).join('. '))
  return element('citation', { key, ...(kind === undefined ? {} : { type: kind }) }, ...known, rest)
}

function field(name: string, value: string | undefined, max = 1_000): XmlElement | null {
  const text = truncated(allowed(value ?? '').trim(), max)
  return text === '' ? null : element(name, {}, text)
}

function isIsbn(text: string | undefined): boolean {
  return text !== undefined && text.length >= 10 && text.length <= 17 && /^(?:97[89]-)?\d[\d -]+[\dX]$/.test(text)
}
