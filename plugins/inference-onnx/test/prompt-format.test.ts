import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { chatTemplate, endTokens, type RunDirectory, type ServedConfig, Tokenizer } from '#root'
import { fixtures } from './support/models.ts'

async function open(name: string): Promise<Tokenizer> {
  const file = join(fixtures, 'tokenizers', `${name}.json`)
  return new Tokenizer(file, JSON.parse(await readFile(file, 'utf8')), null)
}

/** Returns the parts of a run directory that are relevant for prompts. */
function directory(tokenizerConfiguration: Record<string, unknown>, chatTemplate: string | null = null): RunDirectory {
  return { tokenizerConfiguration, chatTemplate } as RunDirectory
}

const config: ServedConfig = {
  family: 'llama',
  layers: 1,
  layerKinds: ['full'],
  linear: null,
  keyValueHeads: 1,
  headSize: 16,
  vocabularySize: 300,
  contextLength: 8,
  endTokens: [7]
}

t.test('end-of-turn tokens end a sequence, even if the configuration omits them', async t => {
  for (const [name, token] of [
    ['gemma', '<end_of_turn>'],
    ['llama3', '<|eot_id|>'],
    ['llama2', '<|end|>']
  ] as const) {
    const tokenizer = await open(name)
    const ends = endTokens(config, directory({}), tokenizer)
    t.same([...ends].sort(), [7, tokenizer.id(token)].sort(), name)
  }
  const tokenizer = await open('mistral')
  t.ok(endTokens(config, directory({ eos_token: { content: '</s>' } }), tokenizer).has(tokenizer.id('</s>')!))
})

t.test('uses the `default` template, or `tool_use` if the request has tools', async t => {
  const tokenizer = await open('llama3')
  const templates = [
    { name: 'tool_use', template: 'tools' },
    { name: 'default', template: '{{ bos_token }}plain' }
  ]
  const configuration = { chat_template: templates, bos_token: '<|begin_of_text|>' }
  const template = chatTemplate(directory(configuration), tokenizer)
  const messages = [{ role: 'user', content: 'Hi' }] as const
  t.equal(template.render(messages), '<|begin_of_text|>plain')
  t.equal(template.render(messages, { tools: [{ name: 'now', parameters: {} }] }), 'tools')
  t.equal(chatTemplate(directory(configuration, 'a file'), tokenizer).render(messages), 'a file')
  t.equal(chatTemplate(directory({ chat_template: [templates[0]] }), tokenizer).source, 'tools', 'the only template')
  t.match(chatTemplate(directory({}), tokenizer).render(messages), /^<\|im_start\|>user/)
})
