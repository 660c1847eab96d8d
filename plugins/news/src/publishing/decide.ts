import type { GateResult, WorthinessReport } from '@svc/contracts'
import type { ChannelPolicy, NewsItem } from '../items/item.ts'
import { topicPackRules } from '../templates/topic-packs.ts'
import type { DecisionReason } from './outcome.ts'

export interface DecisionInput {
  readonly item: NewsItem
  readonly channel: string
  /** Options of the channel; see `requestedChannels`. Undefined: the item does not request it. */
  readonly options: Readonly<Record<string, unknown>> | false | null | undefined
  readonly nowMs: number
  /** `[news] enabled`. */
  readonly enabled: boolean
  /** Whether any flag requests a dry run. */
  readonly dryRun: boolean
  /** Result of the gate. Must include the code `dry_run` if `dryRun`. */
  readonly gate: Pick<GateResult, 'open' | 'codes'>
  /** Floors from the settings; null if they are not enforced. */
  readonly floors: Floors | null
  readonly worthiness: Pick<WorthinessReport, 'score' | 'decision'>
  readonly templateProfiles: boolean
}

export interface Floors {
  /** Score that every channel needs. */
  readonly aggregate: number
  /** Further scores by channel. */
  readonly channels: ReadonlyMap<string, number>
}

export interface Decision {
  /** `gate`: the gate is closed, and no dry run was requested. */
  readonly verdict: 'send' | 'disabled' | 'dry_run' | 'gate'
  readonly reasons: readonly DecisionReason[]
}

/**
 * Decides about one channel, in this order: item, its policy, worthiness, dry run, service, gate. Only the verdict `send`
 * allows sending. A dry run reports the reasons that would prevent sending as well.
 */
export function decide(input: DecisionInput): Decision {
  const policy = input.item.policy.channels.get(input.channel)
  const notes: DecisionReason[] =
    policy?.templateProfile != null && !input.templateProfiles ? ['template_profile_inert'] : []
  const refusal = itemRefusal(input) ?? policyRefusal(input.item, policy) ?? worthinessRefusal(input, policy)
  if (refusal !== null) return { verdict: 'disabled', reasons: [refusal, ...notes] }
  const off: DecisionReason[] = input.enabled ? [] : ['service_disabled']
  if (input.dryRun) return { verdict: 'dry_run', reasons: [...input.gate.codes, ...off, ...notes] }
  if (!input.enabled) return { verdict: 'disabled', reasons: [...off, ...notes] }
  if (!input.gate.open || input.gate.codes.length > 0) {
    return {
      verdict: input.gate.codes.includes('dry_run') ? 'dry_run' : 'gate',
      reasons: [...input.gate.codes, ...notes]
    }
  }
  return { verdict: 'send', reasons: notes }
}

function itemRefusal({ item, options, nowMs }: DecisionInput): DecisionReason | null {
  if (options === undefined) return 'not_requested'
  if (options === false) return 'excluded_by_item'
  if (options === null) return 'options_missing'
  if (item.draft) return 'draft'
  return Date.parse(item.publishedAt) > nowMs ? 'not_yet_due' : null
}

function policyRefusal(item: NewsItem, policy: ChannelPolicy | undefined): DecisionReason | null {
  if (policy === undefined) return null
  if (!policy.enabled) return 'policy_disabled'
  const tags = new Set(item.tags.map(tag => tag.toLowerCase()))
  const has = (tag: string): boolean => tags.has(tag.toLowerCase())
  if (policy.excludeTags.some(has)) return 'topic_excluded'
  if (policy.includeTags.length === 0) return null
  const share = policy.includeTags.filter(has).length / policy.includeTags.length
  if (share === 0) return 'topic_filtered_out'
  return share < policy.minTopicScore ? 'topic_score_below_min' : null
}

function worthinessRefusal(input: DecisionInput, policy: ChannelPolicy | undefined): DecisionReason | null {
  const { floors, item, channel, worthiness } = input
  if (floors === null) return null
  if (worthiness.score === null) return 'worthiness_unavailable'
  const packFloors: Readonly<Record<string, number>> = topicPackRules(item.topicPack).floors
  // The strictest floor counts: an item cannot lower those of the settings.
  const floor = Math.max(
    floors.aggregate,
    floors.channels.get(channel) ?? 0,
    packFloors[channel] ?? 0,
    policy?.worthinessFloor ?? 0
  )
  // A red line counts like a score below every floor.
  const isWorthy = worthiness.score >= floor && worthiness.decision !== 'AbstainDoNotPublish'
  return isWorthy ? null : 'worthiness_below_floor'
}
