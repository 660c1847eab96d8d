import { service } from '@svc/plugin-sdk'

/** The external skills gateway of the project: skills that run elsewhere, and a control plane with subscriptions. */
export const skillsGateway = service<SkillsGateway>('skills.gateway@1')

/**
 * Client that discovers its gateway at the first call. Every call may throw `SKG_UNREACHABLE`, `SKG_TIMEOUT`,
 * `SKG_UNAUTHORIZED`, `SKG_REFUSED` with the gateway's message, `SKG_ANSWER_INVALID`, and the reason of an aborted
 * signal.
 */
export interface SkillsGateway {
  /** Returns the gateway's addresses and how they were found. Does not throw if the gateway does not respond. */
  endpoints(signal?: AbortSignal): Promise<SkillsEndpoints>
  /** Returns the skills that the gateway lists. */
  skills(signal?: AbortSignal): Promise<readonly SkillSummary[]>
  /**
   * Returns a skill by its slug, `weather` or `team/weather`. Also throws `SKG_SKILL_UNKNOWN` and `SKG_SKILL_INVALID`.
   */
  skill(slug: string, signal?: AbortSignal): Promise<GatewaySkill>
  /** Returns the Markdown text of a skill. Throws like {@link SkillsGateway.skill}. */
  skillText(slug: string, signal?: AbortSignal): Promise<string>
  publish(skill: SkillToPublish, signal?: AbortSignal): Promise<PublishedSkill>
  /** Runs a skill on the gateway. Returns its JSON response. */
  execute(run: SkillRun, signal?: AbortSignal): Promise<unknown>
  subscriptions(signal?: AbortSignal): Promise<readonly SkillSubscription[]>
  /** Returns the gateway's JSON response. */
  subscribe(domain: string, signal?: AbortSignal): Promise<unknown>
  unsubscribe(domain: string, signal?: AbortSignal): Promise<unknown>
  /** Notifies all subscribers of a domain. */
  notify(domain: string, description: string, signal?: AbortSignal): Promise<unknown>
  /**
   * Calls any method of the control plane. A call that loses its connection is repeated once on a new connection, so
   * the gateway may receive it twice. Also throws `SKG_PROTOCOL`.
   */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>
}

export interface SkillsEndpoints {
  readonly http_gateway_url: string
  readonly ws_gateway_url: string
  readonly catalog_list_url: string
  readonly catalog_search_url: string
  /**
   * Source of the addresses: `well-known:<url>`, `cache-last-good (<why>)` or `defaults (<why>)`. Settings override
   * all.
   */
  readonly discovery_source: string
  /** Unix milliseconds after which the gateway is discovered again. */
  readonly cache_expires_at_ms: number
}

export interface SkillSummary {
  readonly name: string
  /** `0.0.0` if the gateway does not report it. */
  readonly version: string
  readonly description: string
}

export interface GatewaySkill extends SkillSummary {
  readonly id: string
  /** `openclaw` if the gateway does not report it. */
  readonly namespace: string
  /** Hash in the gateway's format; null if the gateway does not report it. */
  readonly contentHash: string | null
  readonly author: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  /** The text of the skill; null if the gateway sends it separately. */
  readonly text: string | null
}

export interface SkillToPublish extends SkillSummary {
  /** Markdown. */
  readonly text: string
}

export interface PublishedSkill {
  readonly slug: string
  readonly url: string
  readonly revision: string | null
}

export interface SkillRun {
  readonly skill: string
  /** Input of the skill. */
  readonly command: string
  /** Whether the gateway runs the skill in a sandbox; default true. */
  readonly sandbox?: boolean
}

export interface SkillSubscription {
  readonly domain: string
  /** Number of subscribers. */
  readonly count: number
}
