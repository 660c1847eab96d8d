import t from 'tap'
import { durationMs } from '#root'

t.test('parses whole seconds, and parts with units', async t => {
  const known = { '0': 0, '300': 300_000, '5m': 300_000, '1h30m': 5_400_000, '1.5h': 5_400_000, '+2s': 2000 }
  for (const [text, milliseconds] of Object.entries({ ...known, '.5s': 500, '250ms': 250, '3us': 0.003, '0m0s': 0 })) {
    t.equal(durationMs(text), milliseconds, text)
  }
})

t.test('a negative duration is infinite; the sign of zero is ignored', async t => {
  for (const text of ['-1', '-5m', '-1ns']) t.equal(durationMs(text), Number.POSITIVE_INFINITY, text)
  for (const text of ['-0', '-0s']) t.ok(durationMs(text) === 0, text)
})

t.test('returns undefined for any other string', async t => {
  for (const text of ['', '-', 'm', '5x', '5 m', '1h5', '1.5', 'soon', '5m\n', '1e3']) {
    t.equal(durationMs(text), undefined, JSON.stringify(text))
  }
})
