import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChatMessage, ChatTool } from '@svc/contracts'
import t from 'tap'
import { ChatTemplate } from '#root'
import { fixtures } from './support/models.ts'

const folder = join(fixtures, 'templates')
const variables = { bos_token: '<bos>', eos_token: '<eos>' }
const now = () => new Date(2024, 6, 6, 9, 5, 3)

interface Cases {
  readonly tools: readonly ChatTool[]
  readonly cases: readonly {
    readonly name: string
    readonly messages: readonly ChatMessage[]
    readonly tools?: boolean
    readonly thinking?: boolean
  }[]
}

const { tools, cases }: Cases = JSON.parse(await readFile(join(folder, 'cases.json'), 'utf8'))
const expected: Record<string, Record<string, { rendered: string } | { error: string }>> = JSON.parse(
  await readFile(join(folder, 'expected.json'), 'utf8')
)

async function template(name: string): Promise<ChatTemplate> {
  const source = await readFile(join(folder, `${name}.jinja`), 'utf8')
  return new ChatTemplate({ source, variables, specialNames: [], now })
}

t.test('every template has expected results', async t => {
  const names = (await readdir(folder)).filter(name => name.endsWith('.jinja')).map(name => name.slice(0, -6))
  t.same(names.sort(), Object.keys(expected).sort())
})

for (const [name, results] of Object.entries(expected)) {
  t.test(`a template in the style of ${name} renders as in transformers`, async t => {
    const compiled = await template(name)
    for (const { name: conversation, messages, tools: offered = false, thinking } of cases) {
      const render = () =>
        compiled.render(messages, { tools: offered ? tools : [], ...(thinking === undefined ? {} : { thinking }) })
      const wanted = results[conversation]!
      if ('error' in wanted) {
        t.throws(render, { code: 'INF_CHAT_TEMPLATE_FAILED', message: wanted.error }, conversation)
      } else {
        t.equal(render(), wanted.rendered, conversation)
      }
    }
  })
}

t.test('detects tool and thinking support from the template', async t => {
  for (const [name, capabilities] of Object.entries({
    'qwen2.5': { tools: true, thinking: false },
    qwen3: { tools: true, thinking: true },
    'llama3.1': { tools: true, thinking: false },
    mistral: { tools: true, thinking: false },
    gemma2: { tools: false, thinking: false },
    gemma3: { tools: false, thinking: false },
    phi3: { tools: false, thinking: false },
    'phi4-mini': { tools: true, thinking: false }
  })) {
    t.same((await template(name)).capabilities, capabilities, name)
  }
})
