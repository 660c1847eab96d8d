import {
  type GatewaySkill,
  type PublishedSkill,
  type SkillRun,
  type SkillSubscription,
  type SkillSummary,
  type SkillsEndpoints,
  type SkillsGateway,
  type SkillToPublish,
  skillsGatewayErrors
} from '@svc/contracts'
import { ControlPlane } from './control-plane.ts'
import { Discovery } from './discovery.ts'
import { tableOf } from './json-table.ts'
import { PROBE_MS, probeControlPlane } from './probe.ts'
import type { Settings } from './settings.ts'
import { SkillsApi } from './skills-api.ts'

/** Client of a gateway. Skills are read over HTTP; all other calls use a websocket. */
export class OpenClawGateway implements SkillsGateway {
  readonly #discovery: Discovery
  readonly #api: SkillsApi
  readonly #control: ControlPlane
  readonly #settings: Settings
  readonly #version: string

  /** `version` is that of this plugin. `now` returns milliseconds since 1970. */
  constructor(settings: Settings, version: string, now?: () => number) {
    this.#settings = settings
    this.#version = version
    this.#discovery = new Discovery(settings, now)
    this.#api = new SkillsApi(settings, this.#discovery)
    this.#control = new ControlPlane({ settings, discovery: this.#discovery, version })
  }

  async endpoints(signal?: AbortSignal): Promise<SkillsEndpoints> {
    const { protocol: _, hasSearch: __, ...endpoints } = await this.#discovery.endpoints(signal)
    return endpoints
  }

  /** Forgets the addresses, so that the next call looks them up again. */
  rediscover(): void {
    this.#discovery.expire()
  }

  /** Returns whether the control plane accepts a new connection within 5 seconds. */
  async responds(signal?: AbortSignal): Promise<boolean> {
    const { ws_gateway_url: url } = await this.#discovery.endpoints(signal)
    const { token, challenge_timeout_ms } = this.#settings
    const challengeTimeoutMs = Math.min(challenge_timeout_ms, PROBE_MS / 5)
    return probeControlPlane({ url, token, challengeTimeoutMs, version: this.#version }, signal)
  }

  skills(signal?: AbortSignal): Promise<readonly SkillSummary[]> {
    return this.#api.list(signal)
  }

  /** Returns the skills that a text finds. Throws like {@link skills}. */
  search(query: string, signal?: AbortSignal): Promise<readonly SkillSummary[]> {
    return this.#api.search(query, signal)
  }

  skill(slug: string, signal?: AbortSignal): Promise<GatewaySkill> {
    return this.#api.skill(slug, signal)
  }

  skillText(slug: string, signal?: AbortSignal): Promise<string> {
    return this.#api.text(slug, signal)
  }

  publish(skill: SkillToPublish, signal?: AbortSignal): Promise<PublishedSkill> {
    return this.#api.publish(skill, signal)
  }

  execute({ skill, command, sandbox = true }: SkillRun, signal?: AbortSignal): Promise<unknown> {
    return this.#control.request('execute.skill', { skill_id: skill, command, sandbox }, signal)
  }

  async subscriptions(signal?: AbortSignal): Promise<readonly SkillSubscription[]> {
    const payload = await this.#control.request('subscriptions.list', {}, signal)
    const list = tableOf(payload)?.subscriptions
    if (!Array.isArray(list)) throw notSubscriptions()
    return list.map(each => {
      const { domain, count } = tableOf(each) ?? {}
      if (typeof domain !== 'string' || typeof count !== 'number') throw notSubscriptions()
      return { domain, count }
    })
  }

  subscribe(domain: string, signal?: AbortSignal): Promise<unknown> {
    return this.#control.request('subscriptions.subscribe', { domain }, signal)
  }

  unsubscribe(domain: string, signal?: AbortSignal): Promise<unknown> {
    return this.#control.request('subscriptions.unsubscribe', { domain }, signal)
  }

  notify(domain: string, description: string, signal?: AbortSignal): Promise<unknown> {
    return this.#control.request('subscriptions.notify', { domain, description }, signal)
  }

  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#control.request(method, params, signal)
  }

  close(): Promise<void> {
    return this.#control.close()
  }
}

function notSubscriptions(): Error {
  return skillsGatewayErrors.create('SKG_ANSWER_INVALID', 'subscriptions.list returned no valid list of subscriptions')
}
