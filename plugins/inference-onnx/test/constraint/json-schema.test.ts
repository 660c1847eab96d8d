import Ajv2020 from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { schemas } from '../support/schemas.ts'
import { bundledVocabulary, byteVocabulary, closingLogit, OutputConstraints, write } from '../support/writers.ts'

type Schema = Record<string, unknown>

const byBytes = new OutputConstraints(byteVocabulary)
const bundled = await bundledVocabulary()
const byTokens = new OutputConstraints(bundled)

function isValid(schema: Schema, text: string): boolean {
  const ajv = new Ajv2020.default({ strict: false, validateFormats: false, ownProperties: true })
  return ajv.validate(schema, JSON.parse(text)) === true
}

/** Returns true if the schema is rejected before generation: contradictory, or with values that would need a search. */
async function isRefused(constraints: OutputConstraints, schema: Schema): Promise<boolean> {
  try {
    await constraints.matcher({ type: 'json-schema', schema }, { ignoreEnd: false })
    return false
  } catch (error) {
    if (/no value that the engine can generate|next to an (?:array|object) in enum/.test((error as Error).message))
      return true
    throw error
  }
}

for (const [name, constraints, vocabulary] of [
  ['bytes', byBytes, byteVocabulary],
  ['the tokens of the bundled model', byTokens, bundled]
] as const) {
  t.test(`with any logits, text from ${name} is valid against its schema`, async t => {
    let complete = 0
    await fc.assert(
      fc.asyncProperty(schemas, fc.nat(2 ** 30), fc.constantFrom(0, 1, 3), async (schema, seed, temperature) => {
        if (await isRefused(constraints, schema)) return
        const constraint = { type: 'json-schema', schema } as const
        const written = await write(constraints, vocabulary, constraint, { seed, maxTokens: 150, temperature })
        if (!written.complete) return
        complete++
        if (!isValid(schema, written.text)) throw new Error(written.text)
      }),
      { numRuns: 20 }
    )
    t.ok(complete > 8, `${complete} answers were complete`)
  })
}

t.test('text that ends as soon as possible is valid against its schema', async t => {
  await fc.assert(
    fc.asyncProperty(schemas, fc.nat(2 ** 30), async (schema, seed) => {
      if (await isRefused(byBytes, schema)) return
      const written = await write(
        byBytes,
        byteVocabulary,
        { type: 'json-schema', schema },
        { seed, maxTokens: 3000, logitOf: closingLogit, temperature: 0 }
      )
      if (!written.complete) throw new Error(`the answer did not end: ${written.text.slice(0, 200)}`)
      if (!isValid(schema, written.text)) throw new Error(written.text)
    }),
    { numRuns: 20 }
  )
  t.pass('all answers were valid')
})
