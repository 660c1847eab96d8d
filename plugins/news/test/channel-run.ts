import { readFileSync } from 'node:fs'
import {
  type ChannelReceipt,
  type DeclaredSecretResolver,
  declaredSecretResolver,
  type KernelAdmin,
  kernelAdmin,
  kernelPort,
  type NewsChannel,
  type NewsPost,
  newsChannels,
  type Publications,
  publications,
  RemoteClient,
  type RemoteExchange,
  type RemoteFailure
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import plugin from '#plugin'

export type Checkpoint = Readonly<Record<string, unknown>>

export const ATTEMPT_KEY = '0123456789abcdef0123456789abcdef'

const POST: NewsPost = {
  id: 'release-2',
  digest: 'd'.repeat(64),
  title: 'svc 2 is released',
  author: 'Ada Lovelace',
  publishedAt: '2026-03-01T09:00:00.000Z',
  tags: ['release'],
  topicPack: null,
  link: 'https://example.org/news/release-2.html',
  summary: 'Version 2 checks 1,000 files in 0.3 s.',
  body: 'Version 2 checks **1,000 files** in 0.3 s.\n\nRead the notes.',
  options: {},
  adjust: { marginChars: 0, capFactor: 1 }
}

export function postWith(options: object, more: Partial<NewsPost> = {}): NewsPost {
  return { ...POST, ...more, options: options as Readonly<Record<string, unknown>> }
}

/** One sending of a post, which keeps its checkpoint over several attempts as the publishing engine does. */
export class ChannelRun {
  readonly exchanges: RemoteExchange[] = []
  readonly checkpoints: Checkpoint[] = []
  checkpoint: Checkpoint | null = null
  mayExist = false
  /** Number of checkpoints after which the process "ends": saving the next one throws. */
  endsAfter = Number.POSITIVE_INFINITY

  /** Attempts once. After a failure with an unknown outcome, the next attempt has `mayExist`. */
  async attempt(
    channel: NewsChannel,
    post: NewsPost,
    { attempts = 1, silenceMs = 5_000 } = {}
  ): Promise<ChannelReceipt> {
    const http = new RemoteClient({
      service: channel.name,
      signal: new AbortController().signal,
      attempts,
      firstDelayMs: 1,
      silenceMs,
      record: exchange => void this.exchanges.push(exchange)
    })
    try {
      return await channel.send(post, {
        signal: new AbortController().signal,
        http,
        attemptKey: ATTEMPT_KEY,
        checkpoint: this.checkpoint,
        mayExist: this.mayExist,
        saveCheckpoint: async checkpoint => {
          if (this.checkpoints.length >= this.endsAfter) throw new Error('the process ended')
          this.checkpoint = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
          this.checkpoints.push(this.checkpoint)
        }
      })
    } catch (error) {
      this.mayExist ||= (error as { outcomeUnknown?: boolean }).outcomeUnknown !== false
      throw error
    }
  }

  /** Lets the time pass that a channel waits before it sends again. */
  later(ms = 86_400_000): void {
    if (this.checkpoint === null) return
    this.checkpoint = { ...this.checkpoint, sent_at_ms: Number(this.checkpoint.sent_at_ms) - ms }
  }
}

export interface ChannelOptions {
  /** Settings of the plugin. */
  readonly settings: object
  readonly secrets?: DeclaredSecretResolver
  readonly admin?: Pick<KernelAdmin, 'settings'>
}

export interface OpenChannels {
  readonly kernel: TestKernel
  /** Returns a channel that the plugin contributes, by its name or an alias. */
  channel(name: string): NewsChannel
}

/** Opens the plugin without a database, to call its channels. */
export async function openChannels(t: Test, { settings, secrets, admin }: ChannelOptions): Promise<OpenChannels> {
  let all: () => readonly NewsChannel[] = () => []
  const probe = definePlugin({
    name: 'probe',
    requires: { kernel: kernelPort },
    activate(_, { kernel }) {
      all = () => kernel.current.items(newsChannels).map(({ item }) => item)
    }
  })
  const kernel = await testKernel([plugin, probe] as Plugin[], {
    settings: { news: settings },
    services: [
      fake(publications, {} as Publications),
      ...(secrets === undefined ? [] : [fake(declaredSecretResolver, secrets)]),
      ...(admin === undefined ? [] : [fake(kernelAdmin, admin as KernelAdmin)])
    ]
  })
  t.teardown(() => kernel.close())
  return {
    kernel,
    channel(name) {
      const found = all().find(each => each.name === name || each.aliases?.includes(name))
      if (found === undefined) throw new Error(`no channel ${name} among ${all().map(each => each.name)}`)
      return found
    }
  }
}

/** Fields of a failure that a test expects. */
export type FailureMatch = { readonly code: string } & Partial<
  Pick<RemoteFailure, 'failureClass' | 'retryAfterMs' | 'outcomeUnknown' | 'retryable' | 'httpStatus'>
>

/** Returns the body of a request; its format comes from the source that `fixtures/requests/README.md` names. */
export function requestFixture(name: string): object {
  return JSON.parse(readFileSync(new URL(`fixtures/requests/${name}.json`, import.meta.url), 'utf8'))
}
