import {
  type DashboardPage,
  dashboardActions,
  dashboardCards,
  dashboardPages,
  type Link,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const MODEL = 'model-server/models/:model'
const PLAYGROUND = 'model-server/playground'

const byRoute = { model: { from: 'route', name: 'model' } } as const
const playgroundOf: Link = { page: PLAYGROUND, params: { model: { from: 'row', name: 'model' } } }

const table: View = {
  kind: 'table',
  operation: 'model.stats',
  rows: 'models',
  key: 'name',
  of: 'model',
  columns: [
    { field: 'name', title: 'Model' },
    { field: 'status', title: 'Status', format: 'state' },
    { field: 'source', title: 'Source' },
    { field: 'device', title: 'Device' },
    { field: 'precision', title: 'Precision' },
    { field: 'memory_bytes', title: 'Memory', format: 'bytes' },
    { field: 'running', title: 'Running', format: 'number' },
    { field: 'queue', title: 'Waiting', format: 'number' },
    { field: 'requests', title: 'Requests', format: 'number' },
    { field: 'tokens_per_second', title: 'Tokens/s', format: 'number' },
    { field: 'first_token_ms.p50', title: 'First token', format: 'ms' }
  ],
  open: { page: MODEL, params: { model: { from: 'row', name: 'name' } } },
  empty: 'The models of this server appear here. Download one with: svc model pull NAME'
}

const embedders: View = {
  kind: 'table',
  operation: 'model.embedders',
  rows: 'models',
  key: 'name',
  columns: [
    { field: 'name', title: 'Model' },
    { field: 'kind', title: 'Kind' },
    { field: 'status', title: 'Status', format: 'state' },
    { field: 'detail', title: 'Details' },
    { field: 'family', title: 'Family' },
    { field: 'dimensions', title: 'Dimensions', format: 'number' },
    { field: 'context', title: 'Context', format: 'tokens' },
    { field: 'size_bytes', title: 'Weights', format: 'bytes' },
    { field: 'requests', title: 'Requests', format: 'number' }
  ],
  empty: 'No embedding model and no reranker. Set plugins.model-server.embedding_model or reranker_model to a folder.'
}

const models: DashboardPage = {
  path: 'model-server/models',
  title: 'Models',
  summary: 'Load, memory and speed of the served models',
  icon: 'brain',
  section: 'build',
  order: 20,
  view: {
    kind: 'tabs',
    items: [
      { title: 'Text', view: table },
      { title: 'Embeddings and rerankers', view: embedders },
      { title: 'Compare texts', view: { kind: 'form', operation: 'model.similarity', submit: 'Compare' } }
    ]
  }
}

const model: DashboardPage = {
  path: MODEL,
  title: 'Model',
  icon: 'brain',
  section: 'build',
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Load',
        view: {
          kind: 'stack',
          items: [
            {
              title: 'Now',
              view: {
                kind: 'record',
                operation: 'model.stats',
                input: byRoute,
                field: 'models.0',
                of: 'model',
                columns: [
                  { field: 'status', title: 'Status', format: 'state' },
                  { field: 'detail', title: 'Details' },
                  { field: 'running', title: 'Running', format: 'number' },
                  { field: 'queue', title: 'Waiting', format: 'number' },
                  { field: 'slots', title: 'Slots', format: 'number' },
                  { field: 'tokens_per_second', title: 'Generated tokens/s', format: 'number' },
                  { field: 'prompt_tokens_per_second', title: 'Read tokens/s', format: 'number' },
                  { field: 'memory_bytes', title: 'Memory', format: 'bytes' },
                  { field: 'expires_at', title: 'Unloaded at', format: 'time' }
                ],
                empty: 'This server has no model of that name.'
              }
            },
            {
              title: 'Tokens per second',
              view: {
                kind: 'chart',
                operation: 'model.stats',
                input: byRoute,
                rows: 'models.0.history',
                x: 'at',
                series: [
                  { field: 'tokens_per_second', label: 'Generated', format: 'number' },
                  { field: 'prompt_tokens_per_second', label: 'Read', format: 'number' }
                ]
              }
            },
            {
              title: 'Requests',
              view: {
                kind: 'chart',
                operation: 'model.stats',
                input: byRoute,
                rows: 'models.0.history',
                x: 'at',
                series: [
                  { field: 'running', label: 'Running', format: 'number' },
                  { field: 'queue', label: 'Waiting', format: 'number' }
                ]
              }
            }
          ]
        }
      },
      {
        title: 'Details',
        view: {
          kind: 'record',
          operation: 'model.stats',
          input: byRoute,
          field: 'models.0',
          columns: [
            { field: 'device', title: 'Device' },
            { field: 'precision', title: 'Precision' },
            { field: 'weight_bytes', title: 'Weights', format: 'bytes' },
            { field: 'cache_bytes', title: 'Caches', format: 'bytes' },
            { field: 'cache.positions', title: 'Cache positions', format: 'number' },
            { field: 'cache.used', title: 'Used positions', format: 'number' },
            { field: 'cache.hit_rate', title: 'Prompt tokens from the cache', format: 'percent' },
            { field: 'batch_size', title: 'Mean batch size', format: 'number' },
            { field: 'draft_acceptance', title: 'Accepted drafts', format: 'percent' },
            { field: 'requests', title: 'Requests', format: 'number' },
            { field: 'outcomes', title: 'Outcomes', format: 'json' },
            { field: 'prompt_tokens', title: 'Prompt tokens', format: 'tokens' },
            { field: 'completion_tokens', title: 'Generated tokens', format: 'tokens' },
            { field: 'first_token_ms.p50', title: 'First token, median', format: 'ms' },
            { field: 'first_token_ms.p95', title: 'First token, 95th percentile', format: 'ms' },
            { field: 'queue_ms.p50', title: 'Waiting, median', format: 'ms' },
            { field: 'queue_ms.p95', title: 'Waiting, 95th percentile', format: 'ms' },
            { field: 'prefill_ms.p50', title: 'Reading the prompt, median', format: 'ms' },
            { field: 'prefill_ms.p95', title: 'Reading the prompt, 95th percentile', format: 'ms' },
            { field: 'decode_ms.p50', title: 'Time per token, median', format: 'ms' },
            { field: 'decode_ms.p95', title: 'Time per token, 95th percentile', format: 'ms' }
          ]
        }
      },
      {
        title: 'Adapters',
        view: {
          kind: 'table',
          operation: 'model.stats',
          input: byRoute,
          rows: 'models.0.adapters',
          key: 'name',
          of: 'model-adapter',
          columns: [
            { field: 'name', title: 'Adapter' },
            { field: 'model', title: 'Model name in requests', link: playgroundOf },
            { field: 'bytes', title: 'Memory', format: 'bytes' },
            { field: 'requests', title: 'Requests', format: 'number' },
            { field: 'completion_tokens', title: 'Generated tokens', format: 'tokens' }
          ],
          empty: 'Adapters of this model appear here. Add one with: svc model adapters add NAME DIRECTORY'
        }
      }
    ]
  }
}

const playground: DashboardPage = {
  path: PLAYGROUND,
  title: 'Playground',
  summary: 'Chat with a model, or compare two',
  icon: 'sparkles',
  section: 'build',
  order: 21,
  view: { kind: 'module', entry: 'playground', uses: ['model.chat', 'model.choices', 'model.list'] }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of [models, model, playground]) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardCards, {
    title: 'Models',
    order: 30,
    size: 'm',
    link: { page: 'model-server/models' },
    view: {
      kind: 'table',
      operation: 'model.stats',
      rows: 'models',
      key: 'name',
      columns: [
        { field: 'name', title: 'Model' },
        { field: 'status', title: 'Status', format: 'state' },
        { field: 'running', title: 'Running', format: 'number' },
        { field: 'queue', title: 'Waiting', format: 'number' },
        { field: 'tokens_per_second', title: 'Tokens/s', format: 'number' }
      ],
      open: { page: MODEL, params: { model: { from: 'row', name: 'name' } } },
      empty: 'The models of this server appear here.'
    }
  })
  const bind = { model: { from: 'row', name: 'name' } } as const
  ctx.contribute(dashboardActions, {
    on: 'model',
    label: 'Load',
    operation: 'model.load',
    bind,
    when: { field: 'status', in: ['idle', 'unloaded', 'failed'] },
    tone: 'primary'
  })
  ctx.contribute(dashboardActions, {
    on: 'model',
    label: 'Unload',
    operation: 'model.unload',
    bind,
    when: { field: 'status', in: ['ready'] }
  })
  ctx.contribute(dashboardActions, {
    on: 'model',
    label: 'Remove',
    operation: 'model.remove',
    bind: { name: { from: 'row', name: 'name' } },
    when: { field: 'source', in: ['added', 'pulled', 'copied'] },
    tone: 'danger'
  })
  ctx.contribute(dashboardActions, {
    on: 'model-adapter',
    label: 'Remove',
    operation: 'model.adapters.remove',
    bind: { name: { from: 'row', name: 'name' }, model: { from: 'row', name: 'base' } },
    tone: 'danger'
  })
}
