import type { NewsChannel } from '@svc/contracts'
import { defined, type Handler } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'
import type { FeedFile } from '../feed/feed-file.ts'
import { entryOf } from '../feed/rss-channel.ts'
import type { NewsItem } from '../items/item.ts'
import type { ScanResult } from '../items/scan.ts'
import { digestOf, postOf, requestedChannels } from '../publishing/compose.ts'
import type { PostRecord } from '../publishing/post-record.ts'
import type { PostStore } from '../publishing/post-store.ts'
import { previewsOf } from '../publishing/previews.ts'
import type { Publisher } from '../publishing/publisher.ts'
import type { Settings } from '../settings.ts'
import type { Newsroom } from './newsroom.ts'
import type {
  newsFeed,
  newsInbox,
  newsItems,
  newsPreview,
  newsPublish,
  newsResolve,
  newsScan,
  newsStatus
} from './operations.ts'

/** Posts that are compared with the feed. */
const MAX_SENT = 10_000

export interface Dependencies {
  readonly settings: () => Settings
  readonly newsroom: Newsroom
  readonly publisher: Publisher
  readonly store: PostStore
  readonly feed: FeedFile
  readonly channels: () => readonly NewsChannel[]
  /** Called after items or outcomes changed. */
  readonly changed: () => void
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

export function scanHandler(dependencies: Dependencies): Handler<typeof newsScan> {
  const { newsroom, publisher, changed } = dependencies
  return async ({ prepare }, call) => {
    const scanned = await newsroom.scan(call.signal)
    const refused = prepare ? await publisher.prepareAll(scanned.items) : []
    changed()
    const problems = [...scanned.problems, ...refused]
    return {
      files: scanned.files,
      ...rowsOf({ ...scanned, problems }, dependencies),
      ok: problems.length === 0,
      note: problems.map(({ file, line, message, hint }) => `${file}:${line}: ${message}; ${hint}`).join('\n')
    }
  }
}

export function itemsHandler(dependencies: Dependencies): Handler<typeof newsItems> {
  return async (_, call) => rowsOf(await dependencies.newsroom.scan(call.signal), dependencies)
}

function rowsOf({ items, problems }: ScanResult, { settings, channels }: Dependencies) {
  return {
    items: items.map(item => ({
      id: item.id,
      title: item.title,
      published_at: item.publishedAt,
      status: statusOf(item),
      channels: [...requestedChannels(item, channels())].flatMap(([name, options]) =>
        options === false ? [] : [name]
      ),
      digest: digestOf(item, settings()),
      file: item.file
    })),
    problems: [...problems]
  }
}

export function previewHandler({ settings, newsroom, channels }: Dependencies): Handler<typeof newsPreview> {
  return async ({ id, channels: names }, call) => {
    const only = newsroom.channelNames(names)
    const item = await newsroom.item(id, call.signal)
    const previews = await previewsOf(item, channels(), settings(), only)
    return {
      id: item.id,
      title: item.title,
      digest: digestOf(item, settings()),
      channels: previews.map(each => ({ ...each, texts: [...each.texts] }))
    }
  }
}

export function publishHandler({ newsroom, publisher, signal }: Dependencies): Handler<typeof newsPublish> {
  return async ({ id, channels: names, dry_run, again }, call) => {
    const only = newsroom.channelNames(names)
    const item = await newsroom.item(id, call.signal)
    const result = await publisher.publish(item, {
      dryRun: dry_run,
      again,
      signal: AbortSignal.any([call.signal, signal]),
      ...defined({ only })
    })
    return {
      id: result.id,
      digest: result.digest,
      dry_run: result.dryRunBy.length > 0,
      dry_run_by: [...result.dryRunBy],
      gate_codes: [...result.gate.codes],
      approvers: [...result.gate.approvers],
      channels: result.channels.map(each => ({ ...each, decision_reasons: [...each.decision_reasons] })),
      ok: result.channels.every(({ outcome }) => outcome !== 'Failed'),
      note: noteOf(result)
    }
  }
}

export function statusHandler({ store }: Dependencies): Handler<typeof newsStatus> {
  return async ({ id, limit }) => {
    const posts = await store.list(id ?? null, limit)
    const events = id === undefined ? [] : await store.events(id, limit)
    const open = posts.filter(({ state }) => state === 'unknown').length
    const interrupted = posts.filter(({ state, nextRetryAtMs }) => state === 'sending' && nextRetryAtMs !== null).length
    const notes = [
      open === 0 ? '' : `${open} posts with an unknown outcome: svc news resolve ID CHANNEL --sent ID, or --not-sent`,
      interrupted === 0
        ? ''
        : `${interrupted} posts may exist, and are looked for by svc serve, or by svc news publish ID`
    ]
    return {
      posts: posts.map(postRow),
      events: events.map(({ channel, event, content_sha3_256, detail, at_ms }) => ({
        channel,
        event,
        digest: content_sha3_256,
        at: new Date(at_ms).toISOString(),
        detail
      })),
      note: notes.filter(note => note !== '').join('\n')
    }
  }
}

export function resolveHandler({ newsroom, store, publisher, changed }: Dependencies): Handler<typeof newsResolve> {
  return async ({ id, channel, sent, not_sent }) => {
    if ((sent === undefined) !== not_sent) {
      throw newsErrors.create('NEWS_RESOLVE_REFUSED', `${id} on ${channel}: name either sent or not_sent`, {
        hint: `svc news resolve ${id} ${channel} --sent ID, or --not-sent`
      })
    }
    const record = await store.resolve(id, newsroom.channel(channel).name, sent ?? null)
    await publisher.copyDecision(record)
    changed()
    return {
      id,
      channel: record.channel,
      digest: record.digest,
      state: record.state,
      external_id: record.externalId
    }
  }
}

export function feedHandler({ settings, feed, store, newsroom, changed }: Dependencies): Handler<typeof newsFeed> {
  return async ({ restore }, call) => {
    const sent = (await store.list(null, MAX_SENT)).filter(
      ({ channel, state }) => channel === 'rss' && state === 'sent'
    )
    const lost = async () => {
      const found = new Set(((await feed.read()) ?? []).map(({ guid }) => guid))
      return [...new Set(sent.map(({ newsId }) => newsId))].filter(id => !found.has(id))
    }
    const missing = await lost()
    const restored: string[] = []
    if (restore && missing.length > 0) {
      const { items } = await newsroom.scan(call.signal)
      // Only the text that was sent: others need their approvals.
      const wanted = items.filter(item => {
        const digest = digestOf(item, settings())
        return missing.includes(item.id) && sent.some(post => post.newsId === item.id && post.digest === digest)
      })
      await feed.update(
        wanted.map(item => entryOf(postOf(item, 'rss', {}, digestOf(item, settings()), settings()))),
        call.signal
      )
      restored.push(...wanted.map(({ id }) => id))
      changed()
    }
    const entries = await feed.read()
    const left = missing.filter(id => !restored.includes(id))
    const hint = restore ? 'their text has changed since then, or their file is gone' : 'svc news feed --restore'
    return {
      path: settings().rss_feed_path,
      exists: entries !== null,
      entries: (entries ?? []).map(({ publishedMs, ...entry }) => ({
        ...entry,
        published_at: publishedMs === null ? null : new Date(publishedMs).toISOString()
      })),
      missing: left,
      restored,
      note: left.length === 0 ? '' : `sent, but not in the feed: ${left.join(', ')}; ${hint}`
    }
  }
}

export function inboxHandler({ store }: Dependencies): Handler<typeof newsInbox> {
  return async () => {
    const open = store.isAvailable ? await store.open(100) : []
    return {
      items: open.map(({ newsId, channel, digest, failure, updatedAtMs }) => ({
        id: `${newsId} ${channel} ${digest}`,
        kind: 'failure' as const,
        title: `Was ${newsId} sent to ${channel}?`,
        body: `${failure?.message ?? 'An attempt did not end.'} Look at the channel, then say whether the post exists.`,
        since: updatedAtMs,
        link: `/ui/p/news/items/${encodeURIComponent(newsId)}`,
        answers: [
          { label: 'It exists', operation: 'news.resolve', input: { id: newsId, channel }, ask: ['sent'] },
          {
            label: 'It does not exist',
            operation: 'news.resolve',
            input: { id: newsId, channel, not_sent: true },
            tone: 'danger' as const
          }
        ]
      }))
    }
  }
}

function statusOf(item: NewsItem): 'ready' | 'draft' | 'scheduled' {
  if (item.draft) return 'draft'
  return Date.parse(item.publishedAt) > Date.now() ? 'scheduled' : 'ready'
}

function postRow(post: PostRecord) {
  return {
    attempt_key: post.attemptKey,
    id: post.newsId,
    digest: post.digest,
    channel: post.channel,
    state: post.state,
    may_exist: post.mayExist,
    attempts: post.attempts,
    external_id: post.externalId,
    url: post.url,
    code: post.failure?.code ?? null,
    message: post.failure?.message ?? null,
    next_retry_at_ms: post.nextRetryAtMs,
    updated_at: new Date(post.updatedAtMs).toISOString()
  }
}

function noteOf({ dryRunBy, channels }: Awaited<ReturnType<Publisher['publish']>>): string {
  const lines = channels.flatMap(each => {
    if (each.outcome !== 'Failed') return []
    const { channel, message } = each
    return [message.startsWith(`${channel}: `) ? message : `${channel}: ${message}`]
  })
  if (dryRunBy.length > 0) lines.unshift(`dry run, nothing was sent; requested by ${dryRunBy.join(' and ')}`)
  return lines.join('\n')
}
