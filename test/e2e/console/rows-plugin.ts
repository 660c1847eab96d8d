import { pluginPackage } from '../served-project.ts'

/** Text that would run or break the page if it were drawn as HTML. */
export const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'\u202e[x](javascript:window.hacked=1)`

/** Files of a plugin `rows` with pages in every state: 10,000 rows, none, an error, no answer, and hostile texts. */
export const rowsPlugin = {
  'plugins/rows/package.json': pluginPackage('rows'),
  'plugins/rows/src/plugin.ts': `
import { dashboardActions, dashboardCards, dashboardInbox, dashboardPages } from '@svc/contracts'
import { DeltaLog, definePlugin, defineOperation, deltaOperation, t } from '@svc/plugin-sdk'

const row = t.object({ id: t.string(), name: t.string(), state: t.enum(['queued', 'running', 'done']), value: t.integer() })
const feed = deltaOperation({ id: 'rows.feed', summary: 'Rows', row, watch: { on: ['rows.changed'] } })
const none = defineOperation({ id: 'rows.none', summary: 'No rows', effect: 'read', input: t.object({}), output: t.object({ rows: t.array(row) }) })
const broken = defineOperation({ id: 'rows.broken', summary: 'Fails', effect: 'read', input: t.object({}), output: t.object({ rows: t.array(row) }), errors: { ROWS_BROKEN: { message: 'The rows are broken.', status: 409 } } })
const never = defineOperation({ id: 'rows.never', summary: 'Does not answer', effect: 'read', input: t.object({}), output: t.object({ rows: t.array(row) }) })
const hostile = defineOperation({ id: 'rows.hostile', summary: ${JSON.stringify(HOSTILE)}, effect: 'read', input: t.object({}), output: t.object({ rows: t.array(t.record(t.unknown())), text: t.string() }) })
const change = defineOperation({ id: 'rows.change', summary: 'Change rows', effect: 'write', input: t.object({ count: t.integer({ default: 1, minimum: 1, maximum: 10000 }), name: t.optional(t.string()) }), output: t.object({ changed: t.integer() }) })
const wipe = defineOperation({ id: 'rows.wipe', summary: 'Delete a row', effect: 'destructive', input: t.object({ id: t.string() }), output: t.object({ removed: t.boolean() }) })
const inbox = defineOperation({ id: 'rows.inbox', summary: 'Waiting', effect: 'read', watch: { on: ['rows.changed'] }, input: t.object({}), output: t.object({ items: t.array(t.record(t.unknown())) }) })
const one = defineOperation({ id: 'rows.one', summary: 'One row', effect: 'read', input: t.object({ id: t.string() }), output: t.object({ id: t.string(), name: t.string(), note: t.nullable(t.string()) }) })
const HOSTILE = ${JSON.stringify(HOSTILE)}
const states = ['queued', 'running', 'done'] as const

export default definePlugin({
  name: 'rows',
  summary: HOSTILE,
  operations: [feed, one, none, broken, never, hostile, change, wipe, inbox],
  async activate(ctx) {
    const log = await ctx.keep('rows', () => {
      const created = new DeltaLog<any>()
      for (let at = 0; at < 10_000; at++) created.set('r' + at, { id: 'r' + at, name: 'row ' + at, state: states[at % 3]!, value: at })
      return created
    }, () => {})
    ctx.log.warn(HOSTILE, { [HOSTILE]: HOSTILE })
    ctx.implement(feed, ({ since, limit }) => log.read(since, limit) as never)
    ctx.implement(one, ({ id }) => ({ id, name: log.get(id)?.name ?? '', note: null }))
    ctx.implement(none, () => ({ rows: [] }))
    ctx.implement(broken, (_, call) => call.fail('ROWS_BROKEN', 'the rows are broken ' + HOSTILE))
    ctx.implement(never, (_, call) => new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason))))
    ctx.implement(hostile, () => ({ rows: [{ id: HOSTILE, [HOSTILE]: HOSTILE, time: HOSTILE, state: HOSTILE }], text: HOSTILE }))
    ctx.implement(change, ({ count, name }) => {
      for (let at = 0; at < count; at++) {
        const old = log.get('r' + at)
        if (old !== undefined) log.set('r' + at, { ...old, name: name ?? old.name, value: old.value + 1 })
      }
      ctx.changed('rows.changed')
      return { changed: count }
    })
    ctx.implement(wipe, ({ id }) => {
      const removed = log.remove(id)
      ctx.changed('rows.changed')
      return { removed }
    })
    ctx.implement(inbox, () => ({ items: [{ id: '1', kind: 'question', title: HOSTILE, body: HOSTILE, since: 1, link: 'javascript:alert(1)', answers: [{ label: HOSTILE, operation: 'rows.change', input: {} }] }] }))
    const columns = [{ field: 'id' }, { field: 'name' }, { field: 'state', format: 'state' as const }, { field: 'value', format: 'number' as const }]
    const page = (path: string, title: string, view: any) => ctx.contribute(dashboardPages, { path: 'rows/' + path, title, section: 'build', view })
    page('many', 'Many', { kind: 'table', operation: 'rows.feed', key: 'id', columns, of: 'row', filters: [{ name: 'name', label: 'Name', field: 'name' }, { name: 'state', label: 'State', field: 'state', choices: [...states] }] })
    page('lines', 'Lines', { kind: 'log', operation: 'rows.feed', key: 'id', time: 'value', level: 'state', message: 'name', columns: [{ field: 'id', link: { page: 'rows/one/:id', params: { id: { from: 'row', name: 'id' } } } }], filters: [{ name: 'name', label: 'Name', field: 'name', default: 'row 99' }] })
    page('one/:id', 'Row', { kind: 'record', operation: 'rows.one', input: { id: { from: 'route', name: 'id' } }, name: 'name' })
    ctx.contribute(dashboardPages, { path: 'rows/change', title: 'Change rows', section: 'build', under: 'rows/many', view: { kind: 'form', operation: 'rows.change' } })
    page('none', 'None', { kind: 'table', operation: 'rows.none', rows: 'rows', key: 'id', columns, empty: 'Rows appear here.' })
    page('broken', 'Broken', { kind: 'table', operation: 'rows.broken', rows: 'rows', key: 'id', columns })
    page('never', 'Never', { kind: 'table', operation: 'rows.never', rows: 'rows', key: 'id', columns })
    page('hostile', HOSTILE, { kind: 'stack', items: [
      { title: HOSTILE, view: { kind: 'table', operation: 'rows.hostile', rows: 'rows', key: 'id', empty: HOSTILE } },
      { view: { kind: 'text', operation: 'rows.hostile', field: 'text', format: 'markdown' } },
      { view: { kind: 'record', operation: 'rows.hostile' } }
    ] })
    ctx.contribute(dashboardActions, { on: 'row', label: 'Delete', operation: 'rows.wipe', bind: { id: { from: 'row', name: 'id' } } })
    ctx.contribute(dashboardCards, { title: HOSTILE, size: 's', view: { kind: 'text', operation: 'rows.hostile', field: 'text' } })
    ctx.contribute(dashboardInbox, { operation: 'rows.inbox' })
  }
})
`
} as const
