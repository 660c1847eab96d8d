/** Returns the source files of a new plugin with pages for the console, by path. */
export function pageFiles(name: string, constant: string): Record<string, string> {
  return {
    'src/plugin.ts': pluginSource(name, constant),
    'page/greet.ts': pageSource(name),
    'test/plugin.test.mjs': testSource(name)
  }
}

function pluginSource(name: string, constant: string): string {
  return `import { dashboardPages } from '@svc/contracts'
import { defineOperation, definePlugin, type OutputOf, t } from '@svc/plugin-sdk'

/** Declares an HTTP route, an MCP tool, a JSON-RPC method and a command. */
export const ${constant}Greet = defineOperation({
  id: '${name}.greet',
  summary: 'Greet someone by name',
  input: t.object({ name: t.string({ minLength: 1, description: 'Name to greet' }) }),
  output: t.object({ text: t.string() }),
  expose: {
    http: { method: 'POST', path: '/${name}/greet' },
    mcp: true,
    rpc: true,
    cli: { command: '${name} greet', args: ['name'], view: { text: 'text' } }
  }
})

/** The console calls it again after each change of the topic. */
export const ${constant}List = defineOperation({
  id: '${name}.list',
  summary: 'List the last greetings',
  input: t.object({}),
  output: t.object({
    greetings: t.array(t.object({ id: t.integer(), text: t.string(), at: t.string({ format: 'date-time' }) }))
  }),
  effect: 'read',
  watch: { on: ['${name}.greetings'] },
  expose: {
    rpc: true,
    cli: { command: '${name} list', view: { rows: 'greetings', columns: ['at', 'text'] } }
  }
})

const MAX_GREETINGS = 100

export default definePlugin({
  name: '${name}',
  summary: 'Greets',
  config: t.object({
    greeting: t.string({ default: 'Hello', description: 'First word of the greeting', 'x-reload': 'live' })
  }),
  operations: [${constant}Greet, ${constant}List],
  activate(ctx) {
    const greetings: OutputOf<typeof ${constant}List>['greetings'] = []
    let last = 0
    ctx.implement(${constant}Greet, ({ name }) => {
      const text = \`\${ctx.config.greeting}, \${name}!\`
      greetings.push({ id: ++last, text, at: new Date().toISOString() })
      greetings.splice(0, greetings.length - MAX_GREETINGS)
      ctx.changed('${name}.greetings')
      return { text }
    })
    ctx.implement(${constant}List, () => ({ greetings }))

    // A page that the console draws from the operation.
    ctx.contribute(dashboardPages, {
      path: '${name}/greetings',
      title: 'Greetings',
      icon: 'message-square',
      section: 'run',
      view: {
        kind: 'table',
        operation: '${name}.list',
        rows: 'greetings',
        key: 'id',
        columns: [{ field: 'text' }, { field: 'at', format: 'time' }],
        sort: '-at',
        empty: 'No greetings yet. Greet someone: svc ${name} greet Ada'
      }
    })
    // A page that page/greet.ts draws.
    ctx.contribute(dashboardPages, {
      path: '${name}/greet',
      title: 'Greet',
      icon: 'sparkles',
      section: 'run',
      view: { kind: 'module', entry: 'greet', uses: ['${name}.greet'] }
    })
  }
})
`
}

function pageSource(name: string): string {
  return `import type { ConsoleApi } from '@svc/contracts'

/** Style sheet of the page. The console defines the custom properties for its light and dark theme. */
const STYLE = \`
  form { display: flex; gap: 0.5rem; align-items: end }
  label { display: grid; gap: 0.25rem; color: var(--text-dim) }
  output { display: block; margin-top: 1rem; color: var(--text) }
  output[data-failed] { color: var(--bad) }
\`

/** Draws the page into an element of the console, or of a sandboxed frame if the plugin is isolated. */
export function mount(root: HTMLElement | ShadowRoot, api: ConsoleApi): () => void {
  const form = document.createElement('form')
  const label = document.createElement('label')
  const field = document.createElement('input')
  const button = document.createElement('button')
  const output = document.createElement('output')
  // The memory survives a reload of this file.
  field.value = String(api.memory.get('name') ?? '')
  field.required = true
  field.addEventListener('input', () => api.memory.set('name', field.value))
  label.append('Name', field)
  button.textContent = 'Greet'
  button.disabled = !api.may('${name}.greet')
  form.append(label, button)
  form.addEventListener('submit', event => {
    event.preventDefault()
    void greet()
  })

  async function greet(): Promise<void> {
    try {
      const { text } = (await api.call('${name}.greet', { name: field.value }, { signal: api.signal })) as { text: string }
      output.textContent = text
      delete output.dataset.failed
    } catch (error) {
      output.textContent = (error as Error).message
      output.dataset.failed = ''
    }
  }

  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const styled = root instanceof ShadowRoot ? root : document
  styled.adoptedStyleSheets.push(sheet)
  root.append(form, output)
  return () => {
    styled.adoptedStyleSheets = styled.adoptedStyleSheets.filter(each => each !== sheet)
    root.replaceChildren()
  }
}
`
}

function testSource(name: string): string {
  return `import assert from 'node:assert/strict'
import test from 'node:test'
import { assertNoLeaks, loadPlugin, testPlugin } from '@svc/plugin-sdk/testing'

const plugin = loadPlugin(new URL('../dist/plugin.cjs', import.meta.url))

test('greets with the configured word', async () => {
  const kernel = await testPlugin(plugin, { settings: { greeting: 'Salut' } })
  assert.deepEqual(await kernel.callById('${name}.greet', { name: 'Ada' }), { text: 'Salut, Ada!' })
  await kernel.close()
})

test('lists each greeting, and announces the change', async () => {
  const kernel = await testPlugin(plugin)
  await kernel.callById('${name}.greet', { name: 'Ada' })
  await kernel.callById('${name}.greet', { name: 'Bo' })
  const { greetings } = await kernel.callById('${name}.list', {})
  assert.deepEqual(greetings.map(each => each.text), ['Hello, Ada!', 'Hello, Bo!'])
  assert.equal(kernel.changes('${name}.greetings'), 2)
  await kernel.close()
})

test('rejects an empty name', async () => {
  const kernel = await testPlugin(plugin)
  await assert.rejects(kernel.callById('${name}.greet', { name: '' }), { code: 'OPR_INPUT_INVALID' })
  await kernel.close()
})

test('leaks no resources', async () => {
  await assertNoLeaks(async () => {
    const kernel = await testPlugin(plugin)
    await kernel.close()
  })
})
`
}
