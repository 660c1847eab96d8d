import t from 'tap'
import { resultsOf } from '../../bench/record-results.ts'

t.test('each number and figure of a benchmark becomes a result with its unit', t => {
  const output = {
    peer: 'another',
    results: [
      { case: 'small', toFastify: { median: 0.5, min: 0.4, max: 0.6 }, p95_ms: 3 },
      { case: 'large', toFastify: null, p95_ms: Number.NaN }
    ]
  }
  t.same(resultsOf('http', output), [
    {
      metric_type: 'benchmark_event',
      name: 'http.small.toFastify',
      value: 0.5,
      unit: 'x',
      details: { benchmark: 'http', min: 0.4, max: 0.6 }
    },
    { metric_type: 'benchmark_event', name: 'http.small.p95_ms', value: 3, unit: 'ms', details: { benchmark: 'http' } },
    {
      metric_type: 'benchmark_event',
      name: 'http.large.toFastify',
      value: null,
      unit: 'x',
      details: { benchmark: 'http' }
    },
    {
      metric_type: 'benchmark_event',
      name: 'http.large.p95_ms',
      value: null,
      unit: 'ms',
      details: { benchmark: 'http' }
    }
  ])
  t.end()
})

t.test('results of the language belong to a fixture', t => {
  const output = { peer: 'js', results: [{ task: 'sort', ratio: { median: 2, min: 1, max: 3 } }] }
  t.match(resultsOf('interpreter', output), [
    { metric_type: 'syntax_k_event', name: 'interpreter.ratio', fixture_id: 'sort', value: 2, details: { max: 3 } }
  ])
  t.match(resultsOf('compiler', { results: { lines: 10_000 } }), [
    { metric_type: 'syntax_k_event', name: 'compiler.lines', fixture_id: 'generated', value: 10_000 }
  ])
  t.end()
})
