import type { JsonSchema } from '@svc/plugin-sdk'
import t from 'tap'
import { DEFAULT_TOOLSET, ownTools, toolsetsOf } from '../../tools/mcp-tools.ts'

/** Budget of the default toolset. A token is counted as four bytes of the list's JSON. */
const MAX_DEFAULT_TOKENS = 6_000
const BYTES_PER_TOKEN = 4
/** Editors accept at least this number of tools. */
const MAX_DEFAULT_TOOLS = 40
const MIN_DESCRIPTION = 60

const tools = await ownTools()

t.test('each tool of svc names its toolsets, and each toolset has a description', t => {
  t.ok(tools.length > 100, `${tools.length} tools`)
  for (const { name, declared } of tools) t.ok(declared, `${name}: set expose.mcp.toolsets`)
  for (const { name, description } of toolsetsOf(tools))
    t.notMatch(description, /^Tools of the plugin/, `${name}: describe it in plugins/mcp/src/toolsets.ts`)
  t.end()
})

t.test(`each description has at least ${MIN_DESCRIPTION} characters, and more than one sentence`, t => {
  for (const { name, listing } of tools) {
    const { description = '' } = listing
    t.ok(description.length >= MIN_DESCRIPTION, `${name}: ${description.length} characters`)
    t.ok(description.includes('\n\n'), `${name}: says when to use it, see expose.mcp.use`)
  }
  t.end()
})

t.test('no two tools of a toolset have the same first sentence', t => {
  for (const { name: toolset, tools: members } of toolsetsOf(tools)) {
    const sentences = new Map<string, string>()
    for (const { name, listing } of members) {
      const [sentence = ''] = (listing.description ?? '').split(/\n|\. /, 1)
      t.equal(sentences.get(sentence), undefined, `${toolset}: ${name}: ${sentence}`)
      sentences.set(sentence, name)
    }
  }
  t.end()
})

t.test('each parameter has a description', t => {
  for (const { name, listing } of tools)
    for (const [parameter, schema] of Object.entries(listing.inputSchema.properties ?? {}))
      t.ok(isDescribed(schema as JsonSchema), `${name}: ${parameter}`)
  t.end()
})

t.test('a tool that a description names exists', t => {
  const names = new Set(tools.flatMap(({ name, aliases }) => [name, ...aliases]))
  for (const { name, listing } of tools)
    for (const [mentioned] of (listing.description ?? '').matchAll(/\bsvc_[a-z0-9_]+/g))
      t.ok(names.has(mentioned), `${name} names ${mentioned}`)
  t.end()
})

t.test('the default toolset fits its budget', t => {
  const members = tools.filter(({ toolsets }) => toolsets.includes(DEFAULT_TOOLSET))
  const lists = members.map(({ name, listing: { outputSchema: _, ...listing } }) => ({ name, listing }))
  const tokens = Math.ceil(Buffer.byteLength(JSON.stringify(lists.map(({ listing }) => listing))) / BYTES_PER_TOKEN)
  t.comment(`${members.length} tools, ${tokens} tokens`)
  for (const { name, listing } of lists)
    t.comment(`${name}: ${Math.ceil(Buffer.byteLength(JSON.stringify(listing)) / BYTES_PER_TOKEN)}`)
  t.ok(tokens <= MAX_DEFAULT_TOKENS, `${tokens} tokens`)
  t.ok(members.length <= MAX_DEFAULT_TOOLS, `${members.length} tools`)
  t.end()
})

/** True if a schema has a description, or one of its alternatives has one. */
function isDescribed({ description, anyOf, oneOf }: JsonSchema): boolean {
  if (typeof description === 'string' && description !== '') return true
  return ((anyOf ?? oneOf ?? []) as readonly JsonSchema[]).some(isDescribed)
}
