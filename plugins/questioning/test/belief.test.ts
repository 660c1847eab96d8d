import fc from 'fast-check'
import t from 'tap'
import { normalisedPriors, posteriors, readBelief, withAnswer } from '#root'

const mass = fc.option(fc.double({ min: 0, max: 1e300, noNaN: true }), { nil: null })
const options = fc
  .array(fc.record({ prior: mass, posterior: mass }), { minLength: 1, maxLength: 6 })
  .map(list => list.map((each, at) => ({ id: `o${at}`, ...each })))
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

t.test('probabilities of options sum to 1 before and after an answer, for any priors', async () => {
  fc.assert(
    fc.property(options, fc.nat(), fc.double(), (list, pick, gain) => {
      const selected = list[pick % list.length]?.id ?? ''
      const bits = Number.isNaN(gain) ? 0 : gain
      for (const values of [normalisedPriors(list), posteriors(list, selected, bits)]) {
        if (Math.abs(sum(values) - 1) > 1e-9) return false
        if (values.some(value => !(value >= 0 && value <= 1 + 1e-12))) return false
      }
      return true
    })
  )
})

t.test('a selection raises only the probability of the selected option, and more bits raise it further', async () => {
  fc.assert(
    fc.property(options, fc.nat(), fc.double({ min: 0, max: 8, noNaN: true }), (list, pick, gain) => {
      const at = pick % list.length
      const before = normalisedPriors(list)
      const after = posteriors(list, `o${at}`, gain)
      const more = posteriors(list, `o${at}`, gain + 1)
      return list.every((_, index) => {
        const [was = 0, is = 0, would = 0] = [before[index], after[index], more[index]]
        return index === at ? is >= was - 1e-12 && would >= is - 1e-12 : is <= was + 1e-12
      })
    })
  )
})

t.test('posteriors multiplies the prior by 1 + bits, clamped to 0 to 8', async t => {
  const list = [
    { id: 'a', prior: 0.5, posterior: null },
    { id: 'b', prior: 0.5, posterior: null }
  ]
  t.same(posteriors(list, 'a', 1), [2 / 3, 1 / 3])
  t.same(posteriors(list, 'a', -5), [0.5, 0.5])
  t.same(posteriors(list, 'a', 100), [0.9, 0.1])
})

t.test('a missing prior defaults to the posterior, and then to an equal share', async t => {
  t.same(
    normalisedPriors([
      { id: 'a', prior: null, posterior: 0.25 },
      { id: 'b', prior: 0.75, posterior: 0.1 }
    ]),
    [0.25, 0.75]
  )
  t.same(
    normalisedPriors([
      { id: 'a', prior: null, posterior: null },
      { id: 'b', prior: null, posterior: null }
    ]),
    [0.5, 0.5]
  )
  t.same(
    normalisedPriors([
      { id: 'a', prior: 0, posterior: null },
      { id: 'b', prior: 0, posterior: null }
    ]),
    [0.5, 0.5]
  )
})

t.test('readBelief replaces invalid fields of a stored state, and preserves unknown ones', async t => {
  for (const broken of [null, '', '{', '[]', 'null', '7', '{"answers":3,"hypothesis_mass":null}'])
    t.match(readBelief(broken), { answers: [], hypothesis_mass: { by_question: {} }, last_updated_ms: 0 })
  const answer = { question_id: 'q', answer_text: 'yes', answered_at_ms: 5, selected_option_id: 'a' }
  const state = withAnswer(readBelief('{"note":"kept"}'), answer, { a: 1 })
  t.same(state, {
    note: 'kept',
    answers: [answer],
    hypothesis_mass: { by_question: { q: { a: 1 } } },
    last_updated_ms: 5
  })
})
