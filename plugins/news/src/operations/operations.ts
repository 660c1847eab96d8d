import { dashboardInboxOutput, FAILURE_CLASSES } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'
import { POST_STATES } from '../publishing/post-record.ts'

/** Topic of items and outcomes. */
export const NEWS_TOPIC = 'news.items'

const { NEWS_UNKNOWN, NEWS_ITEM_INVALID, NEWS_FOLDER_REFUSED, NEWS_CHANNEL_UNKNOWN } = newsErrors.specs
const { NEWS_DATABASE_MISSING, NEWS_RESOLVE_REFUSED, NEWS_ID_DUPLICATE } = newsErrors.specs
const { NEWS_FEED_INVALID, NEWS_FEED_BUSY, NEWS_SETTINGS_INVALID } = newsErrors.specs
const itemErrors = { NEWS_ID_DUPLICATE, NEWS_UNKNOWN, NEWS_ITEM_INVALID, NEWS_FOLDER_REFUSED, NEWS_CHANNEL_UNKNOWN }

const idField = t.string({ minLength: 1, maxLength: 128, description: 'Id of the item' })
const channelsField = t.optional(
  t.array(t.string({ minLength: 1, maxLength: 100 }), {
    maxItems: 100,
    description: 'Channels; default: all of the item'
  })
)
const toolsets = ['scientia']

const itemSchema = t.object({
  id: t.string(),
  title: t.string(),
  published_at: t.string({ format: 'date-time' }),
  status: t.enum(['ready', 'draft', 'scheduled']),
  channels: t.array(t.string()),
  digest: t.string(),
  file: t.string()
})
const problemSchema = t.object({
  code: t.string(),
  file: t.string(),
  line: t.integer(),
  message: t.string(),
  hint: t.string()
})

export const newsScan = defineOperation({
  id: 'news.scan',
  summary: 'Read all news items and check them',
  description: 'Stores the publication of each item without errors that is no draft, so that people can approve it.',
  input: t.object({
    prepare: t.boolean({ default: true, description: 'Store publications, so that they can be approved' })
  }),
  output: t.object({
    files: t.integer(),
    items: t.array(itemSchema),
    problems: t.array(problemSchema),
    ok: t.boolean(),
    note: t.string()
  }),
  errors: { NEWS_FOLDER_REFUSED },
  effect: 'write',
  idempotent: true,
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/news/scan' },
    mcp: {
      name: 'svc_news_scan',
      lane: 'data',
      toolsets,
      use: 'Use it after a change of news files; unlike svc_news_preview, it reads all of them.'
    },
    rpc: true,
    cli: {
      command: 'news scan',
      view: {
        rows: 'items',
        columns: ['id', 'status', 'published_at', 'channels', 'title'],
        note: 'note',
        success: 'ok'
      }
    }
  }
})

export const newsItems = defineOperation({
  id: 'news.items',
  summary: 'List the news items of the project',
  input: t.object({}),
  output: t.object({ items: t.array(itemSchema), problems: t.array(problemSchema) }),
  errors: { NEWS_FOLDER_REFUSED },
  effect: 'read',
  concurrency: 1,
  watch: { on: [NEWS_TOPIC] },
  expose: { http: { method: 'GET', path: '/api/news/items' }, rpc: true }
})

const textSchema = t.object({
  label: t.string(),
  text: t.string(),
  length: t.integer(),
  limit: t.integer(),
  unit: t.string()
})

export const newsPreview = defineOperation({
  id: 'news.preview',
  summary: 'Show the texts that each channel would send',
  description: 'Returns each text with its length and limit as the platform counts them. Sends nothing.',
  input: t.object({ id: idField, channels: channelsField }),
  output: t.object({
    id: t.string(),
    title: t.string(),
    digest: t.string(),
    channels: t.array(
      t.object({
        channel: t.string(),
        summary: t.string(),
        problem: t.nullable(t.string()),
        texts: t.array(textSchema)
      })
    )
  }),
  errors: itemErrors,
  effect: 'read',
  concurrency: 2,
  watch: { on: [NEWS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/news/items/:id/preview' },
    mcp: {
      name: 'svc_news_preview',
      lane: 'data',
      toolsets,
      use: 'Use it to check the wording and length of a news item before people approve it.'
    },
    rpc: true
  }
})

const resultSchema = t.object({
  channel: t.string(),
  outcome: t.enum(['Disabled', 'DryRun', 'Success', 'Failed']),
  decision_reasons: t.array(t.string()),
  external_id: t.optional(t.string()),
  url: t.optional(t.string()),
  code: t.optional(t.string()),
  message: t.optional(t.string()),
  retryable: t.optional(t.boolean()),
  failure_class: t.optional(t.enum(FAILURE_CLASSES)),
  retry_at_ms: t.optional(t.integer())
})

export const newsPublish = defineOperation({
  id: 'news.publish',
  summary: 'Send a news item to its channels',
  description:
    'A dry run unless dry_run is false. Even then, nothing is sent before two people have approved exactly this text, ' +
    'publishing is armed, and no setting requests a dry run. Each text is sent to a channel once.',
  input: t.object({
    id: idField,
    channels: channelsField,
    dry_run: t.boolean({ default: true, description: 'Send nothing; report what would happen' }),
    again: t.boolean({ default: false, description: 'Send a changed text although an earlier one was sent' })
  }),
  output: t.object({
    id: t.string(),
    digest: t.string(),
    dry_run: t.boolean(),
    dry_run_by: t.array(t.string(), { description: 'Flags that request a dry run' }),
    gate_codes: t.array(t.string()),
    approvers: t.array(t.string()),
    channels: t.array(resultSchema),
    ok: t.boolean(),
    note: t.string()
  }),
  errors: { ...itemErrors, NEWS_DATABASE_MISSING, NEWS_SETTINGS_INVALID },
  effect: 'write',
  idempotent: true,
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/news/items/:id/publish' },
    mcp: {
      name: 'svc_news_publish',
      lane: 'data',
      toolsets,
      use: 'Use it as a dry run first: its reasons say what is missing.'
    },
    rpc: true,
    cli: {
      command: 'news publish',
      args: ['id'],
      view: {
        rows: 'channels',
        columns: ['channel', 'outcome', 'external_id', 'code', 'decision_reasons'],
        note: 'note',
        success: 'ok'
      }
    }
  }
})

export const newsStatus = defineOperation({
  id: 'news.status',
  summary: 'Show what became of news items on each channel',
  description: 'Returns the posts with their states and failures, newest first, and for one item all events.',
  input: t.object({
    id: t.optional(idField),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum posts, and events of an item' })
  }),
  output: t.object({
    posts: t.array(
      t.object({
        attempt_key: t.string({ description: 'The same for all attempts to send this digest to this channel' }),
        id: t.string(),
        digest: t.string(),
        channel: t.string(),
        state: t.enum(POST_STATES),
        may_exist: t.boolean(),
        attempts: t.integer(),
        external_id: t.nullable(t.string()),
        url: t.nullable(t.string()),
        code: t.nullable(t.string()),
        message: t.nullable(t.string()),
        next_retry_at_ms: t.nullable(t.integer()),
        updated_at: t.string({ format: 'date-time' })
      })
    ),
    events: t.array(
      t.object({
        channel: t.string(),
        event: t.string(),
        digest: t.string(),
        at: t.string({ format: 'date-time' }),
        detail: t.unknown()
      })
    ),
    note: t.string()
  }),
  errors: { NEWS_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [NEWS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/news/status' },
    mcp: {
      name: 'svc_news_status',
      lane: 'data',
      toolsets,
      readRole: true,
      use: 'Use it after sending, or to find posts whose outcome is unknown.'
    },
    rpc: true,
    cli: {
      command: 'news status',
      args: ['id'],
      view: {
        rows: 'posts',
        columns: ['id', 'channel', 'state', 'external_id', 'code', 'updated_at'],
        note: 'note'
      }
    }
  }
})

export const newsResolve = defineOperation({
  id: 'news.resolve',
  summary: 'Say whether a post with an unknown outcome exists',
  input: t.object({
    id: idField,
    channel: t.string({ minLength: 1, maxLength: 100, description: 'Channel of the post' }),
    sent: t.optional(
      t.string({ minLength: 1, maxLength: 500, description: 'The post exists, with this id or address' })
    ),
    not_sent: t.boolean({ default: false, description: 'The post does not exist, and may be sent' })
  }),
  output: t.object({
    id: t.string(),
    channel: t.string(),
    digest: t.string(),
    state: t.enum(POST_STATES),
    external_id: t.nullable(t.string())
  }),
  errors: { NEWS_DATABASE_MISSING, NEWS_RESOLVE_REFUSED },
  effect: 'write',
  expose: {
    http: { method: 'POST', path: '/api/news/items/:id/resolve' },
    rpc: true,
    cli: {
      command: 'news resolve',
      args: ['id', 'channel'],
      view: { fields: ['id', 'channel', 'digest', 'state', 'external_id'] }
    }
  }
})

export const newsFeed = defineOperation({
  id: 'news.feed',
  summary: 'Show the RSS feed, and restore entries that it lost',
  input: t.object({
    restore: t.boolean({ default: false, description: 'Write entries of sent items that the feed lacks' })
  }),
  output: t.object({
    path: t.string(),
    exists: t.boolean(),
    entries: t.array(
      t.object({
        guid: t.nullable(t.string()),
        title: t.nullable(t.string()),
        link: t.nullable(t.string()),
        published_at: t.nullable(t.string({ format: 'date-time' }))
      })
    ),
    missing: t.array(t.string(), { description: 'Items that were sent to the feed and are not in it' }),
    restored: t.array(t.string()),
    note: t.string()
  }),
  errors: { NEWS_FEED_INVALID, NEWS_FEED_BUSY, NEWS_DATABASE_MISSING, NEWS_FOLDER_REFUSED },
  effect: 'write',
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/news/feed' },
    rpc: true,
    cli: {
      command: 'news feed',
      view: { rows: 'entries', columns: ['published_at', 'guid', 'title', 'link'], note: 'note' }
    }
  }
})

export const newsInbox = defineOperation({
  id: 'news.inbox',
  summary: 'List posts whose outcome a person decides',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [NEWS_TOPIC] },
  expose: { rpc: true }
})

export const operations = [newsScan, newsItems, newsPreview, newsPublish, newsStatus, newsResolve, newsFeed, newsInbox]
