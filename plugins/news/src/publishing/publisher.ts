import {
  GATE_CODES,
  type GateResult,
  manifestDigest,
  type NewsChannel,
  type PublicationManifest,
  type Publications
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'
import type { ItemProblem, NewsItem } from '../items/item.ts'
import type { Settings } from '../settings.ts'
import { contentOf, postOf, requestedChannels } from './compose.ts'
import { type Decision, decide } from './decide.ts'
import { floorsOf } from './floors.ts'
import type { ChannelOutcome, ChannelResult, DecisionReason } from './outcome.ts'
import type { PostRecord } from './post-record.ts'
import type { PostStore } from './post-store.ts'
import { retryRules } from './retry.ts'
import type { Sender } from './sender.ts'

export interface PublisherOptions {
  readonly settings: () => Settings
  readonly publications: Publications
  readonly store: PostStore
  readonly sender: Sender
  /** Returns all channels. */
  readonly channels: () => readonly NewsChannel[]
  readonly log: Pick<Logger, 'warn'>
  /** Called after outcomes changed. */
  readonly changed: () => void
  readonly now?: () => number
}

export interface PublishOptions {
  /** Whether the call requests a dry run. */
  readonly dryRun: boolean
  /** Names of the channels. Absent: all that the item requests. */
  readonly only?: readonly string[]
  /** Send although another text of this item was sent. */
  readonly again: boolean
  /** False for planned attempts, which continue their series. Default true. */
  readonly restart?: boolean
  /** True for scans, which send only posts without attempts: failed ones are repeated by their profile. */
  readonly untried?: boolean
  readonly signal: AbortSignal
}

export interface PublishResult {
  readonly id: string
  readonly digest: string
  /** Flags that request a dry run; empty if nothing does. */
  readonly dryRunBy: readonly string[]
  readonly gate: GateResult
  readonly channels: readonly ChannelResult[]
}

/** Failures before an attempt, and those that a person decides about. They leave the state of the publication. */
const NO_ATTEMPT: ReadonlySet<string> = new Set([
  ...GATE_CODES,
  'service_disabled',
  'channel_unknown',
  'not_configured',
  'outcome_unknown'
])

/** Sends items to channels, if the gate of their publication is open, and each text once. */
export class Publisher {
  readonly #options: PublisherOptions

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * Stores the publication of an item, so that people can approve it. Throws `NEWS_ID_DUPLICATE` if another kind of
   * publication has the id, and `NEWS_ITEM_INVALID` if its content is refused.
   */
  async prepare(item: NewsItem): Promise<PublicationManifest> {
    const { publications, settings } = this.#options
    const existing = await publications.find(item.id)
    if (existing !== null && existing.content_type !== 'news_item') {
      const message = `${item.file}: id: "${item.id}" is the id of a publication of the kind ${existing.content_type}`
      throw newsErrors.create('NEWS_ID_DUPLICATE', message, {
        hint: 'give the item another id',
        at: { file: item.file }
      })
    }
    try {
      return await publications.prepare(contentOf(item, settings()))
    } catch (error) {
      if (!isSvcError(error, 'PUB_CONTENT_INVALID')) throw error
      throw newsErrors.create('NEWS_ITEM_INVALID', `${item.file}: ${error.message}`, {
        hint: error.hint ?? 'correct the item',
        at: { file: item.file },
        cause: error
      })
    }
  }

  /** Stores the publications of all items that are no drafts. Returns what is wrong with the others. */
  async prepareAll(items: readonly NewsItem[]): Promise<readonly ItemProblem[]> {
    const problems: ItemProblem[] = []
    for (const item of items) {
      if (item.draft) continue
      try {
        await this.prepare(item)
      } catch (error) {
        if (!isSvcError(error)) throw error
        const { code, message, hint = 'correct the item' } = error
        if (code !== 'NEWS_ID_DUPLICATE' && code !== 'NEWS_ITEM_INVALID') throw error
        problems.push({ code, file: item.file, line: 1, message, hint })
      }
    }
    return problems
  }

  async publish(item: NewsItem, options: PublishOptions): Promise<PublishResult> {
    const settings = this.#options.settings()
    const dryRunBy = [
      ...(options.dryRun ? ['the call'] : []),
      ...(item.dryRun ? ['syndication.dry_run'] : []),
      ...(item.policy.dryRun ? ['distribution_policy.dry_run'] : []),
      ...(settings.dry_run ? ['[news] dry_run'] : [])
    ]
    const dryRun = dryRunBy.length > 0
    const manifest = await this.#manifestOf(item)
    const digest = manifest.content_sha3_256
    const gate = await this.#options.publications.gate({ publicationId: item.id, digest, dryRun })
    const requested = requestedChannels(item, this.#options.channels())
    const channels: ChannelResult[] = []
    for (const name of options.only ?? requested.keys()) {
      options.signal.throwIfAborted()
      const chosen = requested.get(name)
      const decision = this.#decision(item, manifest, name, chosen, dryRun, gate)
      const result = await this.#channel(item, manifest, name, chosen, decision, options)
      channels.push({ ...result, channel: name })
    }
    await this.#settle(manifest, channels)
    // The gate reports its own flag only as a code.
    if (!dryRun && gate.codes.includes('dry_run')) dryRunBy.push('[plugins.publication] dry_run')
    return { id: item.id, digest, dryRunBy, gate, channels }
  }

  /** Stores the publication. Without a database, the gate reports that; dry runs work. */
  async #manifestOf(item: NewsItem): Promise<PublicationManifest> {
    try {
      return await this.prepare(item)
    } catch (error) {
      if (!isSvcError(error, 'PUB_DATABASE_MISSING')) throw error
      const content = contentOf(item, this.#options.settings())
      const none = { version: 0, state: 'draft', created_at_ms: 0, updated_at_ms: 0 }
      return { ...content, ...none, content_sha3_256: manifestDigest(content) }
    }
  }

  /** Copies outcomes to the attempts of publications. Outcomes that could not be copied are copied next time. */
  async copyEvents(): Promise<void> {
    const { publications, store } = this.#options
    await store.copyEvents(async ({ news_id, content_sha3_256, channel, event, detail, at_ms }) => {
      await publications.recordAttempt({
        publication_id: news_id,
        content_sha3_256,
        channel,
        outcome: { event, ...detail },
        attempted_at_ms: at_ms
      })
      if (event === 'sent' && typeof detail.url === 'string') {
        await publications.addLink(news_id, content_sha3_256, { kind: 'url', value: detail.url, source: channel })
      }
    })
  }

  /** Copies the decision of a person about an open outcome. */
  async copyDecision({ newsId, digest, channel, state }: PostRecord): Promise<void> {
    await this.copyEvents()
    if (state !== 'sent') return
    const detail = { channels: [{ channel, outcome: 'Success' }] }
    await this.#options.publications.setState(newsId, digest, 'published', detail)
  }

  #decision(
    item: NewsItem,
    manifest: PublicationManifest,
    channel: string,
    options: Readonly<Record<string, unknown>> | false | null | undefined,
    dryRun: boolean,
    gate: GateResult
  ): Decision {
    const { settings, publications, now = Date.now } = this.#options
    const { enabled, template_profiles, worthiness_enforce, worthiness_score_min, channel_worthiness_floors } =
      settings()
    return decide({
      item,
      channel,
      options,
      nowMs: now(),
      enabled,
      dryRun,
      gate,
      floors: worthiness_enforce
        ? { aggregate: worthiness_score_min, channels: floorsOf(channel_worthiness_floors, this.#options.channels()) }
        : null,
      worthiness: publications.worthiness(manifest),
      templateProfiles: template_profiles
    })
  }

  async #channel(
    item: NewsItem,
    manifest: PublicationManifest,
    name: string,
    chosen: Readonly<Record<string, unknown>> | false | null | undefined,
    { verdict, reasons }: Decision,
    options: PublishOptions
  ): Promise<ChannelOutcome & { readonly decision_reasons: readonly DecisionReason[] }> {
    const digest = manifest.content_sha3_256
    const because = (outcome: ChannelOutcome, ...more: DecisionReason[]) => ({
      ...outcome,
      decision_reasons: [...more, ...reasons]
    })
    if (verdict === 'disabled' || !chosen) return because({ outcome: 'Disabled' })
    if (verdict === 'dry_run') return because({ outcome: 'DryRun' })
    if (verdict === 'gate') return because(refused(reasons[0] ?? 'missing_db', item.id))
    const channel = this.#options.channels().find(each => each.name === name)
    if (channel === undefined) return because(failed('channel_unknown', `${name}: no plugin provides it`))
    const problem = await channel.problem()
    if (problem !== null) {
      return because(failed('not_configured', `${name}: ${problem.message}; ${problem.hint}`), 'channel_problem')
    }
    const { store, sender, settings } = this.#options
    const claimed = await store.claim(
      { newsId: item.id, digest, channel: name },
      { again: options.again, restart: options.restart ?? true, untried: options.untried ?? false }
    )
    switch (claimed.kind) {
      case 'sent':
        return because(sentBefore(claimed.record), 'already_sent')
      case 'other-sent':
        return because({ outcome: 'Disabled' }, 'already_published')
      case 'unknown':
        return because(undecided(claimed.record))
      case 'busy':
        return because(busy(name))
      case 'waiting':
        return because(waiting(claimed.record))
      case 'tried':
        return because(waiting(claimed.record), 'already_tried')
      case 'claimed':
        return because(
          await sender
            .send({
              channel,
              post: postOf(item, name, chosen, digest, settings()),
              claim: claimed.claim,
              rules: retryRules(channel, item.policy.channels.get(name)?.retry ?? null),
              forbidden: () => this.#forbidden(item, digest),
              announce: attempt => this.#announce(item.id, digest, name, attempt),
              signal: options.signal
            })
            .catch((error: unknown) => {
              if (isSvcError(error, 'NEWS_PLACE_LOST')) return busy(name)
              throw error
            })
        )
    }
  }

  /** Records that an attempt begins, which ends the time in which approvals can be revoked. */
  #announce(id: string, digest: string, channel: string, attempt: number): Promise<void> {
    const { publications, now = Date.now } = this.#options
    return publications.recordAttempt({
      publication_id: id,
      content_sha3_256: digest,
      channel,
      outcome: { event: 'started', attempt },
      attempted_at_ms: now()
    })
  }

  /** Checks the gate again directly before an attempt: approvals may be revoked meanwhile. */
  async #forbidden(item: NewsItem, digest: string): Promise<string | null> {
    const { settings, publications } = this.#options
    const { dry_run, enabled } = settings()
    if (!enabled) return 'service_disabled'
    const gate = await publications.gate({ publicationId: item.id, digest, dryRun: dry_run })
    return gate.open ? null : (gate.codes[0] ?? 'missing_db')
  }

  async #settle(manifest: PublicationManifest, channels: readonly ChannelResult[]): Promise<void> {
    const { publications, log, changed } = this.#options
    try {
      await this.copyEvents()
      const live = channels.filter(
        ({ outcome, decision_reasons }) =>
          (outcome === 'Success' || outcome === 'Failed') && !decision_reasons.includes('already_tried')
      )
      const isSent = live.some(({ outcome }) => outcome === 'Success')
      const isOver = live.some(each => each.outcome === 'Failed' && !each.retryable && !NO_ATTEMPT.has(each.code))
      const detail = { channels: live.map(({ channel, outcome }) => ({ channel, outcome })) }
      const { publication_id, content_sha3_256 } = manifest
      if (isSent) await publications.setState(publication_id, content_sha3_256, 'published', detail)
      else if (isOver) await publications.setState(publication_id, content_sha3_256, 'publish_failed', detail)
    } catch (error) {
      if (isSvcError(error, 'NEWS_DATABASE_MISSING')) return
      // The outcomes are stored, and copied by the next call.
      log.warn('outcomes could not be copied to the publication', {
        news: manifest.publication_id,
        reason: errorMessage(error)
      })
    } finally {
      changed()
    }
  }
}

function failed(code: string, message: string): ChannelOutcome {
  return { outcome: 'Failed', code, message, retryable: false, failure_class: 'config' }
}

function busy(channel: string): ChannelOutcome {
  const message = `${channel}: another process is sending this post; svc news status shows the outcome`
  return { outcome: 'Failed', code: 'busy', message, retryable: true, failure_class: 'transient' }
}

function refused(code: string, id: string): ChannelOutcome {
  const hints: Readonly<Record<string, string>> = {
    missing_dual_approval: `two people approve it with svc publication approve ${id}`,
    publish_not_armed: 'set publication.armed, or SVC_NEWS_PUBLISH_ARMED=1',
    missing_db: 'start the database'
  }
  const message = `the gate is closed: ${code}; ${hints[code] ?? 'see svc publication show'}`
  return { outcome: 'Failed', code, message, retryable: false, failure_class: 'disabled' }
}

function sentBefore({ externalId, url }: PostRecord): ChannelOutcome {
  return { outcome: 'Success', external_id: externalId ?? '', ...defined({ url: url ?? undefined }) }
}

function undecided({ newsId, channel, digest }: PostRecord): ChannelOutcome {
  return {
    outcome: 'Failed',
    code: 'outcome_unknown',
    message:
      `it is unknown whether the text ${digest.slice(0, 12)} was sent; look at the channel, then run ` +
      `svc news resolve ${newsId} ${channel} --sent ID, or --not-sent`,
    retryable: false,
    failure_class: 'fatal'
  }
}

function waiting({ failure, nextRetryAtMs }: PostRecord): ChannelOutcome {
  return {
    outcome: 'Failed',
    code: failure?.code ?? 'waiting',
    message: failure?.message ?? 'an earlier attempt did not end; the next one is planned',
    retryable: failure?.retryable ?? true,
    failure_class: failure?.failure_class ?? 'transient',
    ...defined({ retry_at_ms: nextRetryAtMs ?? undefined })
  }
}
