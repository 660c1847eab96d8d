import fc from 'fast-check'
import t from 'tap'
import type { AnswerEvent } from '#answer'
import { messagesOf, ResponseOutput } from '#responses'

const USAGE = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, queueNs: 0, promptNs: 0, completionNs: 0 }
const word = fc.string({ minLength: 1, maxLength: 5 })
const piece = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: word }),
  fc.record({ type: fc.constant('thinking' as const), text: word }),
  fc.record({ type: fc.constant('tool' as const), text: word, complete: fc.boolean() })
)

t.test('for any answer, items begin and end in order, and their parts join to the output', t => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), fc.boolean(), (pieces, summary, cut) => {
      const output = new ResponseOutput(`resp_${'0'.repeat(48)}`, summary)
      const finishReason = cut ? ('length' as const) : ('stop' as const)
      let calls = 0
      const answer = pieces.flatMap((each): AnswerEvent[] => {
        if (each.type !== 'tool') return [each]
        const index = calls++
        const call = { index, id: `call_${index}`, name: 'f', arguments: JSON.stringify({ x: each.text }) }
        return [
          { type: 'call' as const, ...call, start: 0 },
          { type: 'arguments' as const, index, text: call.arguments },
          { type: 'called' as const, call, complete: each.complete, raw: '' }
        ]
      })
      const done: AnswerEvent = { type: 'done', finishReason, usage: USAGE, thinkingTokens: 0 }
      const events = [...answer, done].flatMap(event => [...output.push(event)]) as Record<string, any>[]
      const { output: items = [] } = output.end ?? {}
      // Each item has one beginning and one end, and no event lies outside of an item.
      let open: number | null = null
      for (const { type, output_index: index } of events) {
        if (type === 'response.output_item.added') {
          if (open !== null) throw new Error('an item began inside another')
          open = index
        } else if (open !== index) throw new Error(`${type} outside of its item`)
        if (type === 'response.output_item.done') open = null
      }
      if (open !== null) throw new Error('an item did not end')
      const textOf = (item: any) => item.arguments ?? [...(item.content ?? []), ...(item.summary ?? [])][0].text
      const joined = items.map((_, at) =>
        events
          .filter(each => each.output_index === at && /\.delta$/.test(each.type))
          .map(each => each.delta)
          .join('')
      )
      t.same(items.map(textOf), joined)
      t.ok(items.length > 0, 'an answer has an item')
      const written = (type: string) => pieces.flatMap(each => (each.type === type ? [each.text] : [])).join('')
      const messages = messagesOf(
        items.map(item => ({ item, field: 'output' })),
        undefined
      )
      t.equal(messages.map(each => each.content).join(''), written('text'))
      t.equal(messages.map(each => each.thinking ?? '').join(''), written('thinking'))
      t.equal(messages.flatMap(each => each.toolCalls ?? []).length, calls)
    }),
    { numRuns: 100 }
  )
  t.end()
})
