import { type Files, pluginPackage } from '../served-project.ts'

/** Pages of the plugin, by name of the module; the value is the source. */
type Modules = Readonly<Record<string, string>>

/** Operations that the pages of {@link modulePlugin} may call. `NAME.hidden` is not among them. */
const USES = ['count', 'add', 'wipe']

/**
 * Files of a plugin with one page for each module, at `NAME/MODULE`. Its operations are `NAME.count` (read, watched),
 * `NAME.add` (write), `NAME.wipe` (destructive) and `NAME.hidden` (read, not in `uses`).
 */
export function modulePlugin(name: string, modules: Modules): Files {
  const pages = Object.fromEntries(Object.keys(modules).map(each => [each, `./page/${each}.ts`]))
  const manifest = JSON.parse(pluginPackage(name))
  return {
    [`plugins/${name}/package.json`]: JSON.stringify({ ...manifest, svc: { ...manifest.svc, pages } }),
    [`plugins/${name}/src/plugin.ts`]: `
import { dashboardPages } from '@svc/contracts'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const output = t.object({ count: t.integer() })
const operation = (id: string, effect: 'read' | 'write' | 'destructive', more = {}) =>
  defineOperation({ id: '${name}.' + id, summary: id, effect, input: t.object({}), output, ...more })
const read = operation('count', 'read', { watch: { on: ['${name}.changed'] } })
const hidden = operation('hidden', 'read', { watch: { on: ['${name}.changed'] } })
const add = operation('add', 'write')
const wipe = operation('wipe', 'destructive')

export default definePlugin({
  name: '${name}',
  operations: [read, hidden, add, wipe],
  activate(ctx) {
    let count = 0
    const set = (value: number) => {
      count = value
      ctx.changed('${name}.changed')
      return { count }
    }
    ctx.implement(read, () => ({ count }))
    ctx.implement(hidden, () => ({ count }))
    ctx.implement(add, () => set(count + 1))
    ctx.implement(wipe, () => set(0))
    for (const entry of ${JSON.stringify(Object.keys(modules))})
      ctx.contribute(dashboardPages, {
        path: '${name}/' + entry,
        title: 'Page ' + entry,
        section: 'build',
        view: { kind: 'module', entry, uses: ${JSON.stringify(USES.map(each => `${name}.${each}`))} }
      })
  }
})
`,
    ...Object.fromEntries(
      Object.entries(modules).map(([module, source]) => [`plugins/${name}/page/${module}.ts`, source])
    )
  }
}

/**
 * Source of a page that shows `version`, the watched count and how often it was mounted in this tab, and notes in
 * `window.marks` when it ends. Its buttons call `plugin`'s operations and show the result or the error's code.
 */
export function buttonsPage(plugin: string, version: string): string {
  return `
const marks: string[] = ((window as any).marks ??= [])

export function mount(root: ParentNode, api: any): () => void {
  const mounts = ((api.memory.get('mounts') as number | undefined) ?? 0) + 1
  api.memory.set('mounts', mounts)
  const add = (tag: string, text: string): HTMLElement => {
    const element = document.createElement(tag)
    element.textContent = text
    root.append(element)
    return element
  }
  add('h2', '${version}')
  add('p', 'mounts: ' + mounts)
  add('p', 'route: ' + JSON.stringify(api.route))
  const count = add('p', 'count: ?')
  const result = add('output', '')
  result.setAttribute('aria-label', 'result')
  const button = (name: string, run: () => unknown): void => {
    add('button', name).addEventListener('click', async () => {
      result.textContent = 'waits'
      try {
        result.textContent = name + ': ' + JSON.stringify(await run())
      } catch (error: any) {
        result.textContent = name + ': ' + (error.code ?? error.name) + ' ' + error.message
      }
    })
  }
  const call = (operation: string, options?: object) => api.call('${plugin}.' + operation, {}, options)
  button('Add', () => call('add'))
  button('Hidden', () => call('hidden'))
  button('Watch hidden', () => new Promise((resolve, reject) => api.watch('${plugin}.hidden', {}, resolve, reject)))
  button('Other plugin', () => api.call('kernel.plugins.list', {}))
  button('Wipe', () => call('wipe', { confirmed: true }))
  button('May', () => ['count', 'wipe', 'hidden'].map(each => api.may('${plugin}.' + each)))
  button('Navigate', () => api.navigate('/ui/plugins'))
  button('Filter', () => api.navigate('/ui/p/${plugin}/buttons?color=red'))
  button('Leave', () => api.navigate('https://example.invalid/'))
  api.watch('${plugin}.count', {}, (output: { count: number }) => {
    count.textContent = 'count: ' + output.count
  })
  api.signal.addEventListener('abort', () => marks.push('aborted ${version}'))
  return () => {
    marks.push('disposed ${version}')
  }
}
`
}
