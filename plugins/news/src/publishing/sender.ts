import { setTimeout as delay } from 'node:timers/promises'
import {
  type ChannelReceipt,
  isRemoteFailure,
  type NewsChannel,
  type NewsPost,
  RemoteClient,
  type RemoteExchange,
  RemoteFailure
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, type Logger, limitedSignal } from '@svc/plugin-sdk'
import type { ChannelOutcome } from './outcome.ts'
import type { Claim, PostFailure } from './post-record.ts'
import { LEASE_MS, type PostStore } from './post-store.ts'
import { MAX_WAIT_MS, type RetryRules } from './retry.ts'

/** Time limit of one attempt, uploads included. */
const ATTEMPT_TIMEOUT_MS = 30 * 60_000
const MAX_MESSAGE_CHARS = 500

export interface SendRequest {
  readonly channel: NewsChannel
  readonly post: NewsPost
  readonly claim: Claim
  readonly rules: RetryRules
  /** Checked before each attempt. Returns the code that forbids it, or null. */
  readonly forbidden: () => Promise<string | null>
  /** Makes known that an attempt begins. */
  readonly announce: (attempt: number) => Promise<void>
  readonly signal: AbortSignal
}

export interface SenderOptions {
  readonly store: PostStore
  readonly log: Pick<Logger, 'warn'>
  /** Conceals secrets in a text. */
  readonly mask: (text: string) => string
  readonly now?: () => number
}

/** Progress of a series of attempts. */
interface Current {
  claim: Claim
  /** Whether an attempt has begun whose outcome is not recorded. */
  isOpen: boolean
}

/** Sends claimed posts, repeats failed attempts, and records each before and after it. */
export class Sender {
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Sends a post, and ends its claim. Throws `NEWS_PLACE_LOST`, the signal's reason, and errors of the database. */
  async send(request: SendRequest): Promise<ChannelOutcome> {
    const { store, log, now = Date.now } = this.#options
    const current = { claim: request.claim, isOpen: false }
    try {
      return await this.#series(request, current)
    } finally {
      // An attempt that was interrupted is finished as soon as possible: the post may exist.
      const dueMs = current.isOpen ? now() : undefined
      // If this fails, the claim ends with the process.
      await store.release(current.claim, dueMs).catch(error =>
        log.warn('the claim of a post could not be ended', {
          news: request.claim.newsId,
          channel: request.channel.name,
          reason: errorMessage(error)
        })
      )
    }
  }

  async #series(request: SendRequest, current: Current): Promise<ChannelOutcome> {
    const { store, now = Date.now } = this.#options
    const { rules, signal } = request
    for (;;) {
      signal.throwIfAborted()
      const code = await request.forbidden()
      if (code !== null) return forbidden(code)
      const before = current.claim
      current.claim = await store.begin(before)
      current.isOpen = true
      // From here on, approvals cannot be revoked. Those that were revoked before are found now.
      await request.announce(current.claim.attempts)
      const late = await request.forbidden()
      if (late !== null) {
        current.claim = await store.cancel(current.claim, before)
        current.isOpen = false
        return forbidden(late)
      }
      const result = await this.#attempt(request, current)
      if ('externalId' in result) {
        await store.succeed(current.claim, result)
        current.isOpen = false
        return { outcome: 'Success', external_id: result.externalId, ...defined({ url: result.url }) }
      }
      const failure = this.#shown(result)
      if (result.code === 'outcome_unknown') await store.leaveOpen(current.claim, failure)
      else current.claim = await store.fail(current.claim, failure, result.outcomeUnknown)
      current.isOpen = false
      if (!failure.retryable || current.claim.attempts >= rules.attempts) return { outcome: 'Failed', ...failure }
      const waitMs = rules.delay(current.claim.attempts, result)
      if (waitMs > MAX_WAIT_MS) {
        const at = now() + waitMs
        await store.plan(current.claim, at)
        return { outcome: 'Failed', ...failure, retry_at_ms: at }
      }
      await delay(waitMs, undefined, { signal })
    }
  }

  async #attempt({ channel, post, signal }: SendRequest, current: Current): Promise<ChannelReceipt | RemoteFailure> {
    const { store, log } = this.#options
    const { claim } = current
    const lost = new AbortController()
    const all = AbortSignal.any([limitedSignal(signal, ATTEMPT_TIMEOUT_MS), lost.signal])
    const renewal = setInterval(() => {
      store.renew(claim).catch(error => {
        if (isSvcError(error, 'NEWS_PLACE_LOST')) lost.abort(error)
      })
    }, LEASE_MS / 3)
    const exchanges: RemoteExchange[] = []
    try {
      return await channel.send(post, {
        signal: all,
        http: new RemoteClient({
          service: channel.name,
          signal: all,
          // Attempts are counted here, by the profile of the channel.
          attempts: 1,
          beforeAttempt: () => store.renew(claim),
          record: exchange => exchanges.push(exchange)
        }),
        attemptKey: claim.attemptKey,
        checkpoint: claim.checkpoint,
        mayExist: claim.mayExist,
        async saveCheckpoint(checkpoint) {
          await store.saveCheckpoint(claim, checkpoint)
          current.claim = { ...current.claim, checkpoint }
        }
      })
    } catch (error) {
      lost.signal.throwIfAborted()
      signal.throwIfAborted()
      if (isSvcError(error, 'NEWS_PLACE_LOST')) throw error
      if (isRemoteFailure(error)) return error
      log.warn('a channel failed unexpectedly', { channel: channel.name, reason: errorMessage(error) })
      return new RemoteFailure(`${channel.name}: the channel failed unexpectedly: ${errorMessage(error)}`, {
        failureClass: all.aborted ? 'transient' : 'fatal',
        code: all.aborted ? 'timeout' : 'channel_error',
        outcomeUnknown: true
      })
    } finally {
      clearInterval(renewal)
      await store
        .recordExchanges(claim, exchanges)
        .catch(error => log.warn('requests of a post could not be recorded', { reason: errorMessage(error) }))
    }
  }

  #shown(failure: RemoteFailure): PostFailure {
    const { code, failureClass, outcomeUnknown } = failure
    const isPassing = failureClass === 'rate_limit' || failureClass === 'transient'
    return {
      code,
      message: this.#options.mask(failure.message).slice(0, MAX_MESSAGE_CHARS),
      failure_class: failureClass,
      // The next attempt lets the channel find out whether the post exists.
      retryable: code !== 'outcome_unknown' && (isPassing || outcomeUnknown)
    }
  }
}

function forbidden(code: string): ChannelOutcome {
  return {
    outcome: 'Failed',
    code,
    message: `the gate was closed before the post was sent (${code}); run svc publication show`,
    retryable: false,
    failure_class: 'disabled'
  }
}
