import fc from 'fast-check'
import t from 'tap'
import { chatPrompt, PrefixIndex, promptBlocks, readRequest, rendezvousScore, retryAfterMs, textPrompt } from '#root'

const BLOCK = 1024
const message = (role: string, content: string) => ({ role, content })

t.test('a longer conversation continues the blocks of a shorter one, in both formats', async t => {
  const turns = [message('system', 's'.repeat(3000)), message('user', 'u'.repeat(2000))]
  const more = [...turns, message('assistant', 'a'.repeat(2000)), message('user', 'next')]
  const blocks = (messages: object[]) => promptBlocks('m', chatPrompt({ messages })).blocks
  const short = blocks(turns)
  t.equal(short.length, 4)
  t.same(blocks(more).slice(0, short.length), short)
  t.notSame(promptBlocks('other', chatPrompt({ messages: turns })).blocks[0], short[0], 'models share no block')
  t.notSame(blocks([message('system', `x${'s'.repeat(2999)}`)])[0], short[0])
  const read = (path: string, kind: 'chat', api: 'openai' | 'ollama') =>
    readRequest({ path, kind, api, summary: '' }, Buffer.from(JSON.stringify({ model: 'm:latest', messages: turns })))
  t.same(read('/api/chat', 'chat', 'ollama').prompt, read('/v1/chat/completions', 'chat', 'openai').prompt)
  t.same(read('/v1/chat/completions', 'chat', 'openai').prompt.blocks, short)
})

t.test('everything that a template renders is part of the prompt', async t => {
  const base = { messages: [message('user', 'x')] }
  const prompts = [
    chatPrompt(base),
    chatPrompt({ ...base, tools: [{ type: 'function', function: { name: 'f' } }] }),
    chatPrompt({ messages: [{ ...message('assistant', 'x'), tool_calls: [{ id: '1' }] }] }),
    chatPrompt({ messages: [message('user', 'x'), message('user', '')] }),
    chatPrompt({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] }),
    textPrompt({ prompt: 'x' }),
    textPrompt({ system: 's', prompt: 'x' }),
    textPrompt({ prompt: [1, 2, 3] })
  ]
  t.equal(new Set(prompts).size, prompts.length)
  for (const messages of [undefined, null, 7, [null, 'x', 7, {}]]) t.type(chatPrompt({ messages }), 'string')
})

t.test('matches are the leading blocks that a residency has seen', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(4), fc.array(fc.nat(2), { maxLength: 6 })), { maxLength: 40 }),
      fc.array(fc.nat(2), { maxLength: 6 }),
      (history, asked) => {
        const index = new PrefixIndex()
        // Each letter is a block; a text of letters stands for a prompt.
        const blocks = (letters: readonly number[]) =>
          promptBlocks('m', letters.map(letter => String(letter).repeat(BLOCK)).join('')).blocks
        for (const [residency, letters] of history) index.record(blocks(letters), residency)
        const residencies = [0, 1, 2, 3, 4]
        const matched = index.match(blocks(asked), residencies)
        for (const residency of residencies) {
          const seen = history.filter(([each]) => each === residency)
          const shared = seen.map(([, letters]) => {
            const at = asked.findIndex((letter, index) => letters[index] !== letter)
            return at < 0 ? asked.length : at
          })
          const longest = Math.max(0, ...shared)
          // A block remembers three residencies, so that a match may be shorter, never longer.
          const found = matched[residency] as number
          if (found > longest) throw new Error(`matched ${found} of ${longest}`)
          const others = new Set(history.map(([each]) => each)).size
          if (others <= 3 && found !== longest) throw new Error(`matched ${found}, expected ${longest}`)
        }
      }
    ),
    { numRuns: 200 }
  )
  t.pass()
})

t.test('the least recently used prefixes are dropped, their ends first', async t => {
  const index = new PrefixIndex(10)
  const blocks = (letter: string) => promptBlocks('m', letter.repeat(4 * BLOCK)).blocks
  for (const letter of ['a', 'b', 'c']) index.record(blocks(letter), 1)
  t.equal(index.size, 10)
  t.same(index.match(blocks('a'), [1]), [2])
  t.same(index.match(blocks('b'), [1]), [4])
  index.record(blocks('b'), 1)
  index.record(blocks('d'), 1)
  t.same(index.match(blocks('a'), [1]), [0])
  t.same(index.match(blocks('b'), [1]), [4])
})

t.test('a block remembers its three most recent residencies', async t => {
  const index = new PrefixIndex()
  const { blocks } = promptBlocks('m', 'x'.repeat(BLOCK))
  for (const residency of [1, 2, 3, 4]) index.record(blocks, residency)
  t.same(index.match(blocks, [1, 2, 3, 4]), [0, 1, 1, 1])
})

t.test('rendezvous hashing follows the weights, and moves only the keys of a server that leaves', async t => {
  const servers = [
    { name: 'a', weight: 1 },
    { name: 'b', weight: 1 },
    { name: 'c', weight: 2 }
  ]
  const owner = (all: typeof servers, key: number) =>
    all.reduce((a, b) => (rendezvousScore(b.name, b.weight, key) > rendezvousScore(a.name, a.weight, key) ? b : a)).name
  const counts: Record<string, number> = { a: 0, b: 0, c: 0 }
  let moved = 0
  for (let key = 0; key < 8000; key++) {
    const one = owner(servers, key)
    counts[one] = (counts[one] ?? 0) + 1
    if (one !== 'c' && owner(servers.slice(0, 2), key) !== one) moved += 1
  }
  t.equal(moved, 0)
  const share = (name: string) => (counts[name] as number) / 8000
  t.ok(Math.abs(share('c') - 0.5) < 0.03 && Math.abs(share('a') - 0.25) < 0.03, JSON.stringify(counts))
})

t.test('Retry-After is read as seconds or as a date', async t => {
  const now = Date.parse('2026-11-26T12:00:00Z')
  t.equal(retryAfterMs('7', now), 7_000)
  t.equal(retryAfterMs('Thu, 26 Nov 2026 12:00:30 GMT', now), 30_000)
  t.equal(retryAfterMs('Thu, 26 Nov 2026 11:00:00 GMT', now), 0)
  t.equal(retryAfterMs('999999999', now), 3_600_000)
  for (const text of [undefined, '', 'soon', '-1', '1.5x']) t.equal(retryAfterMs(text, now), null, `${text}`)
})
