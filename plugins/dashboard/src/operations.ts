import { defineOperation, t } from '@svc/plugin-sdk'
import { failedSource, inboxItemFields, searchResultFields } from './sources/item-schemas.ts'

/** Topic that is announced when a source of the inbox changed. */
export const INBOX_TOPIC = 'dashboard.inbox'

const source = {
  source: t.string({ description: 'Operation that returned it' }),
  plugin: t.string({ description: 'Plugin of that operation' })
}
const failed = t.array(failedSource, { description: 'Operations that did not answer' })

export const inboxOperation = defineOperation({
  id: 'dashboard.inbox',
  summary: 'List what waits for a person',
  description: 'Approvals, doubts, questions, signals and failed jobs of all plugins, oldest first.',
  effect: 'read',
  input: t.object({}),
  output: t.object({
    items: t.array(t.object({ ...inboxItemFields, ...source })),
    failed
  }),
  watch: { on: [INBOX_TOPIC] },
  expose: {
    rpc: true,
    mcp: {
      toolsets: ['default', 'messages'],
      use: 'Approvals, doubts, failed tasks and questions, with the answers that are possible. Questions between agents only: svc_pending_questions.'
    },
    cli: { command: 'dashboard inbox', view: { rows: 'items', columns: ['kind', 'title', 'plugin', 'id'] } }
  }
})

export const searchOperation = defineOperation({
  id: 'dashboard.search',
  summary: 'Search tasks, plans and other objects of all plugins',
  effect: 'read',
  input: t.object({ text: t.string({ minLength: 1, maxLength: 200, description: 'Text to search' }) }),
  output: t.object({
    results: t.array(t.object({ ...searchResultFields, ...source })),
    failed
  }),
  expose: {
    rpc: true,
    cli: {
      command: 'dashboard search',
      args: ['text'],
      view: { rows: 'results', columns: ['kind', 'title', 'plugin', 'link'] }
    }
  }
})

export const pagesOperation = defineOperation({
  id: 'dashboard.pages',
  summary: 'List the pages of the console, and contributions with mistakes',
  effect: 'read',
  input: t.object({}),
  output: t.object({
    pages: t.array(
      t.object({
        path: t.string(),
        title: t.string(),
        plugin: t.string(),
        section: t.string(),
        kind: t.string({ description: 'Kind of the view; module for a page that is drawn by code' }),
        role: t.enum(['viewer', 'operator', 'owner'])
      })
    ),
    broken: t.array(
      t.object({
        plugin: t.string(),
        point: t.string({ description: 'Kind of the contribution, such as dashboard.pages' }),
        entry: t.string({ description: 'Path, title or operation of the contribution' }),
        reason: t.string()
      })
    ),
    note: t.string()
  }),
  expose: {
    rpc: true,
    cli: {
      command: 'dashboard pages',
      view: { rows: 'pages', columns: ['path', 'title', 'plugin', 'section', 'kind', 'role'], note: 'note' }
    }
  }
})
