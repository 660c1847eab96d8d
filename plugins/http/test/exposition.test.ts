import tap from 'tap'
import { joinExpositions } from '#root'

tap.test('groups the lines of a family, and writes each series once', async tap => {
  const first = [
    '# HELP requests_total Requests.',
    '# TYPE requests_total counter',
    'requests_total{a="x y}{"} 1',
    '# HELP time_seconds Time.',
    '# TYPE time_seconds histogram',
    'time_seconds_bucket{le="1"} 1',
    'time_seconds_bucket{le="+Inf"} 2',
    'time_seconds_sum 3',
    'time_seconds_count 2',
    'requests_total{a="b"} 2',
    ''
  ].join('\n')
  const second =
    '# HELP requests_total Other words.\nrequests_total{a="b"} 9\nrequests_total{a="c"} 4\nbare 1 1700000000000\n\n# a comment\nnot a line !\n'
  tap.equal(
    joinExpositions([first, second]),
    [
      '# HELP requests_total Requests.',
      '# TYPE requests_total counter',
      'requests_total{a="x y}{"} 1',
      'requests_total{a="b"} 2',
      'requests_total{a="c"} 4',
      '# HELP time_seconds Time.',
      '# TYPE time_seconds histogram',
      'time_seconds_bucket{le="1"} 1',
      'time_seconds_bucket{le="+Inf"} 2',
      'time_seconds_sum 3',
      'time_seconds_count 2',
      'bare 1 1700000000000',
      ''
    ].join('\n')
  )
})

tap.test('keeps a family separate if its name begins with the name of another', async tap => {
  const text = '# TYPE heap gauge\nheap 1\nheap_used 2\n'
  tap.equal(joinExpositions([text, 'heap_used 3\n']), text)
})
