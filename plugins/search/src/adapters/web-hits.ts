import type { SearchTierHit } from '@svc/contracts'

const MAX_URL_CHARS = 2_000
const OFFICIAL = 1.25
const SCHOLARLY = 1.15
const SCHOLARLY_HOSTS = /(?:^|\.)(?:arxiv\.org|doi\.org|pubmed\.ncbi\.nlm\.nih\.gov|docs\.rs|github\.com)$/
const OFFICIAL_HOSTS = /\.(?:gov|edu)$/
/** Query parameters that only say where a visitor came from. */
const TRACKING = /^(?:utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|ref_src)$/

export interface WebResult {
  readonly url: string
  readonly title: string
  readonly text: string
  /** Null: by rank. */
  readonly score: number | null
  readonly source: string
}

/**
 * Returns a web address in one form: without fragment, tracking parameters, `www.` and trailing slash. Null for other
 * schemes, for addresses with a user name, and above 2,000 characters.
 */
export function canonicalUrl(text: string): string | null {
  const url = text.length <= MAX_URL_CHARS && URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  url.hash = ''
  url.hostname = url.hostname.replace(/^(?:www\.)+/, '')
  for (const name of [...url.searchParams.keys()]) if (TRACKING.test(name)) url.searchParams.delete(name)
  url.searchParams.sort()
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url.search === '' && url.pathname === '/' ? url.href.slice(0, -1) : url.href
}

/** 1.25 for .gov and .edu, 1.15 for arxiv, doi, pubmed, docs.rs and github, else 1. */
export function authorityFactor(url: string): number {
  const { hostname } = new URL(url)
  if (OFFICIAL_HOSTS.test(hostname)) return OFFICIAL
  return SCHOLARLY_HOSTS.test(hostname) ? SCHOLARLY : 1
}

export interface WebHit extends SearchTierHit {
  /** The address as the server gave it. Its other form, the key, may be another page or lead to a redirect. */
  readonly address: string
}

/** Returns results as hits without duplicates, best first: score, or 1/(1 + rank), x authority. */
export function webHits(results: readonly WebResult[], limit: number): readonly WebHit[] {
  const hits = new Map<string, WebHit>()
  for (const [rank, { url, title, text, score, source }] of results.entries()) {
    const key = canonicalUrl(url)
    if (key === null) continue
    const [base, authority] = [score ?? 1 / (1 + rank), authorityFactor(key)]
    const hit = {
      key,
      address: url,
      title: title === '' ? key : title,
      text: text === '' ? title : text,
      score: base * authority,
      provenance: key,
      factors: [`${source} ${base.toFixed(3)}`, `authority x${authority}`]
    }
    if (hit.score > (hits.get(key)?.score ?? Number.NEGATIVE_INFINITY)) hits.set(key, hit)
  }
  return [...hits.values()].sort((a, b) => b.score - a.score).slice(0, limit)
}
