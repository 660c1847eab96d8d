import type { ChatMessage, TaskView } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import {
  allowedActions,
  attestationOf,
  chooseModel,
  priceOf,
  readVerdict,
  shorten,
  toChatml,
  type Verdict,
  verdictSchema
} from '#ai'
import { TokenBatches } from '#root'

const texts = fc.array(fc.string())
const verdicts: fc.Arbitrary<Verdict> = fc.record({
  outcome: fc.constantFrom('complete', 'doubt', 'fail'),
  summary: fc.string({ minLength: 1 }),
  reason: fc.string(),
  checks_passed: texts,
  evidence_citations: texts,
  artifact_paths: texts,
  complete_and_real: fc.boolean()
})

const attestable: Verdict = {
  outcome: 'complete',
  summary: 'Done.',
  reason: '',
  checks_passed: ['tests', ' Human_Review_Approved ', 'peer_review_approved'],
  evidence_citations: ['a'],
  artifact_paths: ['b.ts'],
  complete_and_real: true
}

t.test('readVerdict parses a verdict with any text around it', t => {
  const words = fc.string().filter(text => !/[{}]/.test(text))
  fc.assert(
    fc.property(verdicts, words, words, (verdict, before, after) => {
      t.same(readVerdict(`${before}\n\`\`\`json\n${JSON.stringify(verdict, null, 1)}\n\`\`\`${after}`), verdict)
    }),
    { numRuns: 50 }
  )
  t.end()
})

t.test('readVerdict returns a verdict or a problem for any reply', t => {
  const replies = fc.oneof(
    fc.string(),
    fc.json(),
    fc.json().map(json => `{"outcome":"complete","summary":${json}}`)
  )
  fc.assert(
    fc.property(replies, text => {
      const read = readVerdict(text)
      if ('problem' in read) t.match(read.problem, /\w/)
      else t.ok(['complete', 'doubt', 'fail'].includes(read.outcome))
    })
  )
  t.match(readVerdict('{"outcome":"complete","summary":"Done."}'), { checks_passed: [], complete_and_real: false })
  t.same([...verdictSchema.required].sort(), Object.keys(attestable).sort(), 'every field is required')
  t.end()
})

t.test('attestationOf copies the verdict without checks that only a user may claim', t => {
  t.same(attestationOf(attestable, 'seen'), {
    completion_summary: 'Done.',
    checks_passed: ['tests'],
    evidence_citations: ['a'],
    artifact_paths: ['b.ts'],
    declared_non_placeholder: true,
    observation_summary: 'seen'
  })
  t.end()
})

t.test('no message of a conversation can open or end a ChatML turn', t => {
  const hostile = fc
    .array(fc.constantFrom('<|im_start|>', '<|im_end|>', 'system', '\n', '<|im_', 'x'))
    .map(all => all.join(''))
  const messages = fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: hostile }))
  fc.assert(
    fc.property(messages as fc.Arbitrary<ChatMessage[]>, conversation => {
      const text = toChatml(conversation)
      t.equal(text.split('<|im_start|>').length - 1, conversation.length + 1)
      t.equal(text.split('<|im_end|>').length - 1, conversation.length)
    }),
    { numRuns: 50 }
  )
  t.end()
})

t.test('chooseModel prefers the model of the task, then cost, then the settings', t => {
  const prices = [
    { model: 'big', input_usd: 3, output_usd: 9 },
    { model: 'small', input_usd: 1, output_usd: 2 }
  ]
  const task = (more: Partial<TaskView> = {}) => ({ category: 'General', role: 'builder', ...more }) as TaskView
  const choose = (
    fields: Partial<TaskView>,
    economy: boolean,
    research = false,
    model: string | undefined = undefined
  ) =>
    chooseModel(task(fields), {
      settings: { prices, research_model: 'scholar', ...(model === undefined ? {} : { model }) },
      policy: { cost_preference: economy ? 'economy' : 'performance', research_model_enabled: research },
      offered: ['big', 'small'],
      defaultModel: 'usual'
    })
  t.equal(choose({ model_override: 'a', model_preference: 'b' }, true), 'a')
  t.equal(choose({ model_preference: 'b' }, true), 'b')
  t.equal(choose({}, true), 'small')
  t.equal(choose({}, false, false, 'mine'), 'mine')
  t.equal(choose({}, false), 'usual')
  t.equal(choose({ category: 'Research' }, false, true), 'scholar')
  t.equal(choose({ role: 'researcher' }, false), 'usual')
  t.equal(priceOf(prices, 'big', 1_000_000, 500_000), 7.5)
  t.equal(priceOf(prices, 'other', 1_000_000, 1), 0)
  t.end()
})

t.test('an invalid policy allows only reading', t => {
  const actions = (execution_policy_json?: string) => [
    ...allowedActions({ ...(execution_policy_json === undefined ? {} : { execution_policy_json }) } as TaskView)
  ]
  t.same(actions(), ['read'])
  for (const text of ['{', 'null', '[]', '{"allowed_action_labels":"write"}']) t.same(actions(text), ['read'], text)
  t.same(actions('{"allowed_action_labels":["read","write",7]}'), ['read', 'write'])
  t.end()
})

t.test('TokenBatches emits batches of at least 256 characters, and loses none', t => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 400 })), pieces => {
      const emitted: string[] = []
      const batches = new TokenBatches(text => emitted.push(text))
      for (const piece of pieces) batches.add(piece)
      batches.flush()
      t.equal(emitted.join(''), pieces.join(''))
      t.ok(emitted.slice(0, -1).every(text => text.length >= 256))
    }),
    { numRuns: 50 }
  )
  t.end()
})

t.test('shorten cuts the middle of a long message', t => {
  fc.assert(
    fc.property(fc.string({ maxLength: 900 }), fc.integer({ min: 400, max: 800 }), (content, max) => {
      const [short] = shorten([{ role: 'user', content }], max)
      const cut = short?.content ?? ''
      t.ok(content.length <= max ? cut === content : cut.length === max)
      t.ok(content.startsWith(cut.slice(0, 100)) && content.endsWith(cut.slice(-200)))
    }),
    { numRuns: 50 }
  )
  t.end()
})
