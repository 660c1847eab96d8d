import {
  type GatewaySkill,
  type PublishedSkill,
  type SkillSummary,
  type SkillToPublish,
  skillsGatewayErrors
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { shownAddress } from './conceal.ts'
import type { Discovery } from './discovery.ts'
import { assertAccepted, type HttpResponse, sendRequest } from './http-request.ts'
import { type JsonTable, tableOf, textOf } from './json-table.ts'
import type { Settings } from './settings.ts'

/** Statuses with which a gateway answers if it has no search. */
const NO_SEARCH: ReadonlySet<number> = new Set([404, 405, 501])

/** The HTTP API of a gateway. */
export class SkillsApi {
  readonly #settings: Settings
  readonly #discovery: Discovery

  constructor(settings: Settings, discovery: Discovery) {
    this.#settings = settings
    this.#discovery = discovery
  }

  async list(signal: AbortSignal | undefined): Promise<readonly SkillSummary[]> {
    const { catalog_list_url: url } = await this.#discovery.endpoints(signal)
    const { text } = await this.#sendAccepted(url, undefined, signal)
    return summariesOf(text, url)
  }

  /**
   * Returns the skills that a text finds: those of the search URL if the settings or the gateway name one, otherwise the
   * listed skills whose name or description contains the text, in any case.
   */
  async search(query: string, signal: AbortSignal | undefined): Promise<readonly SkillSummary[]> {
    const { catalog_search_url, hasSearch } = await this.#discovery.endpoints(signal)
    if (hasSearch) {
      const url = new URL(catalog_search_url)
      url.searchParams.set('q', query)
      const response = await this.#send(url.href, undefined, signal)
      if (!NO_SEARCH.has(response.status)) {
        assertAccepted(url.href, response, this.#settings.token)
        return summariesOf(response.text, url.href)
      }
    }
    const wanted = query.toLowerCase()
    const listed = await this.list(signal)
    return listed.filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted))
  }

  async skill(slug: string, signal: AbortSignal | undefined): Promise<GatewaySkill> {
    const url = await this.#urlOf(slug, signal)
    const response = await this.#send(url, undefined, signal)
    this.#assertKnown(slug, url, response)
    const table = tableOf(jsonOf(response.text, url))
    const summary = summaryOf(table, url)
    return {
      ...summary,
      id: textOf(table, ['id']) ?? summary.name,
      namespace: textOf(table, ['namespace']) ?? 'openclaw',
      contentHash: textOf(table, ['content_hash']),
      author: textOf(table, ['author']),
      metadata: tableOf(table?.metadata) ?? {},
      text: textOf(table, ['skill_md', 'body'])
    }
  }

  /** Returns the text of a skill: from its own URL, else from the skill. */
  async text(slug: string, signal: AbortSignal | undefined): Promise<string> {
    const url = `${await this.#urlOf(slug, signal)}/skill.md`
    try {
      const response = await this.#sendAccepted(url, undefined, signal)
      if (!response.isJson) return response.text
      const text = textOf(tableOf(jsonOf(response.text, url)), ['skill_md', 'body'])
      if (text !== null) return text
    } catch (error) {
      // If the gateway is unreachable or unauthorized, a second request would fail, too.
      if (!isSvcError(error, 'SKG_REFUSED') && !isSvcError(error, 'SKG_ANSWER_INVALID')) throw error
    }
    const { text } = await this.skill(slug, signal)
    if (text === null) throw invalid(url, 'a skill without text')
    return text
  }

  async publish(skill: SkillToPublish, signal: AbortSignal | undefined): Promise<PublishedSkill> {
    const { http_gateway_url } = await this.#discovery.endpoints(signal)
    const url = `${http_gateway_url}/v1/skills`
    const { name, version, description, text } = skill
    const response = await this.#sendAccepted(url, { name, version, description, skill_md: text }, signal)
    const table = tableOf(jsonOf(response.text, url))
    const [slug, skillUrl] = [textOf(table, ['slug']), textOf(table, ['url'])]
    if (slug === null || skillUrl === null) throw invalid(url, 'a skill without slug or URL')
    return { slug, url: skillUrl, revision: textOf(table, ['revision']) }
  }

  async #urlOf(slug: string, signal: AbortSignal | undefined): Promise<string> {
    const path = encodedSlug(slug)
    const { http_gateway_url } = await this.#discovery.endpoints(signal)
    return `${http_gateway_url}/v1/skills/${path}`
  }

  async #sendAccepted(url: string, body: unknown, signal: AbortSignal | undefined): Promise<HttpResponse> {
    const response = await this.#send(url, body, signal)
    assertAccepted(url, response, this.#settings.token)
    return response
  }

  #send(url: string, body: unknown, signal: AbortSignal | undefined): Promise<HttpResponse> {
    const { token, request_timeout_ms: timeoutMs } = this.#settings
    return sendRequest({ url, token, timeoutMs, signal, ...(body === undefined ? {} : { body }) })
  }

  #assertKnown(slug: string, url: string, response: HttpResponse): void {
    if (response.status === 404) {
      throw skillsGatewayErrors.create('SKG_SKILL_UNKNOWN', `${shownAddress(url)}: the gateway has no skill ${slug}`)
    }
    assertAccepted(url, response, this.#settings.token)
  }
}

/**
 * Escapes all but letters, digits, `-._~` and `/`. Throws `SKG_SKILL_INVALID` for lone surrogates and for empty, `.` and
 * `..` segments.
 */
export function encodedSlug(slug: string): string {
  const parts = slug.split('/')
  if (/\p{Surrogate}/u.test(slug) || parts.some(part => part === '' || part === '.' || part === '..')) {
    throw skillsGatewayErrors.create('SKG_SKILL_INVALID', `"${slug}" is not a valid slug of a skill`, {
      hint: 'write the slug as NAME or OWNER/NAME'
    })
  }
  const encoded = (part: string): string =>
    encodeURIComponent(part).replace(/[!'()*]/g, each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
  return parts.map(encoded).join('/')
}

function summariesOf(text: string, url: string): SkillSummary[] {
  const value = jsonOf(text, url)
  const list = Array.isArray(value) ? value : tableOf(value)?.skills
  if (!Array.isArray(list)) throw invalid(url, 'no list of skills')
  return list.map(each => summaryOf(tableOf(each), url))
}

function summaryOf(table: JsonTable | null, url: string): SkillSummary {
  const name = textOf(table, ['name', 'slug'])
  if (name === null) throw invalid(url, 'a skill without a name')
  const version = textOf(table, ['version']) ?? '0.0.0'
  return { name, version, description: textOf(table, ['description']) ?? '' }
}

function jsonOf(text: string, url: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(url, 'invalid JSON', cause)
  }
}

function invalid(url: string, content: string, cause?: unknown): Error {
  const details = cause === undefined ? {} : { cause }
  return skillsGatewayErrors.create('SKG_ANSWER_INVALID', `${shownAddress(url)} returned ${content}`, details)
}
