import type { SearchTier } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { numberIn, objectsIn, requestJson, textIn } from './http-json.ts'
import type { PageReader } from './page-reader.ts'
import type { TavilyBudget } from './tavily-budget.ts'
import { type WebResult, webHits } from './web-hits.ts'

const MAX_SCRAPED = 3
const MAX_DDG_TOPICS = 20
const TAVILY_HEADERS = (key: string, project: string | undefined) => ({
  authorization: `Bearer ${key}`,
  ...(project === undefined ? {} : { 'x-project-id': project })
})

export interface WebParts {
  readonly settings: () => Settings
  readonly pages: PageReader
}

/** SearXNG, the second tier of the web after local results. Reads the pages of its best results. */
export function searxngTier({ settings, pages }: WebParts): SearchTier {
  return {
    name: 'searxng',
    corpus: 'web_research',
    backend: 'web',
    order: 2,
    unavailable: () => (settings().searxng_url === undefined ? 'searxng_url is not set' : null),
    async query({ query, limit }, signal) {
      const {
        searxng_url = '',
        searxng_max_results,
        searxng_max_scrape,
        searxng_engines,
        searxng_language
      } = settings()
      const url = new URL(`${searxng_url.replace(/\/+$/, '')}/search`)
      url.searchParams.set('q', query)
      url.searchParams.set('format', 'json')
      url.searchParams.set('engines', searxng_engines)
      url.searchParams.set('language', searxng_language)
      const answer = await requestJson({ server: 'SearXNG', url, signal })
      const results = objectsIn(answer, 'results', 'SearXNG').map(result => ({
        url: textIn(result, 'url'),
        title: textIn(result, 'title'),
        text: textIn(result, 'content'),
        score: numberIn(result, 'score'),
        source: `searxng ${textIn(result, 'engine')}`.trim()
      }))
      const hits = webHits(results, Math.min(limit, searxng_max_results))
      const scraped = Math.min(MAX_SCRAPED, searxng_max_scrape)
      return Promise.all(
        hits.map(async (hit, rank) => {
          const text = rank < scraped ? await pages.read(hit.address, signal) : null
          return text === null ? hit : { ...hit, text, factors: [...(hit.factors ?? []), 'page read'] }
        })
      )
    }
  }
}

/** Instant answers of DuckDuckGo, if neither local tiers nor SearXNG found anything. */
export function duckDuckGoTier({ settings }: Pick<WebParts, 'settings'>): SearchTier {
  return {
    name: 'duckduckgo',
    corpus: 'web_research',
    backend: 'web',
    order: 3,
    unavailable: () => (settings().ddg_fallback_disabled ? 'ddg_fallback_disabled is set' : null),
    unneeded: ({ hits }) => (hits > 0 ? 'local tiers have hits' : null),
    async query({ query, limit }, signal) {
      const url = new URL(settings().ddg_url)
      for (const [name, value] of Object.entries({ q: query, format: 'json', no_html: '1', skip_disambig: '1' }))
        url.searchParams.set(name, value)
      const answer = (await requestJson({ server: 'DuckDuckGo', url, signal })) as Record<string, unknown> | null
      const topics = objectsIn(answer, 'RelatedTopics', 'DuckDuckGo')
        .flatMap(topic => (Array.isArray(topic.Topics) ? objectsIn(topic, 'Topics', 'DuckDuckGo') : [topic]))
        .slice(0, MAX_DDG_TOPICS)
      const abstract = answer ?? {}
      const results: WebResult[] = [
        {
          url: textIn(abstract, 'AbstractURL'),
          title: textIn(abstract, 'Heading'),
          text: textIn(abstract, 'AbstractText'),
          score: null,
          source: 'duckduckgo'
        },
        ...topics.map(topic => ({
          url: textIn(topic, 'FirstURL'),
          title: textIn(topic, 'Text').split(' - ')[0] ?? '',
          text: textIn(topic, 'Text'),
          score: null,
          source: 'duckduckgo'
        }))
      ]
      return webHits(
        results.filter(({ text }) => text !== ''),
        limit
      )
    }
  }
}

/** Tavily, if it is enabled, local results are empty or weak, and the budget of this process is not used up. */
export function tavilyTier({ settings }: Pick<WebParts, 'settings'>, budget: TavilyBudget): SearchTier {
  return {
    name: 'tavily',
    corpus: 'web_research',
    backend: 'web',
    order: 4,
    unavailable() {
      const { tavily_enabled, tavily_api_key } = settings()
      if (!tavily_enabled) return 'tavily_enabled is not set'
      if (tavily_api_key === undefined) return 'tavily_api_key is not set'
      return budget.refusal()
    },
    unneeded({ hits, isWeak }) {
      const { tavily_on_empty, tavily_on_weak } = settings()
      if ((tavily_on_empty && hits === 0) || (tavily_on_weak && isWeak)) return null
      return hits === 0 ? 'tavily_on_empty is not set' : 'local tiers have hits'
    },
    async query({ query, limit }, signal) {
      const { tavily_url, tavily_api_key = '', tavily_project, tavily_depth, tavily_max_results } = settings()
      budget.spend()
      const answer = await requestJson({
        server: 'Tavily',
        url: new URL(`${tavily_url.replace(/\/+$/, '')}/search`),
        headers: TAVILY_HEADERS(tavily_api_key, tavily_project),
        body: { query, search_depth: tavily_depth, max_results: tavily_max_results },
        signal
      })
      const results = objectsIn(answer, 'results', 'Tavily').map(result => ({
        url: textIn(result, 'url'),
        title: textIn(result, 'title'),
        text: textIn(result, 'content'),
        score: numberIn(result, 'score'),
        source: 'tavily'
      }))
      return webHits(results, Math.min(limit, tavily_max_results))
    }
  }
}
