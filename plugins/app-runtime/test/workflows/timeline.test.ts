import t from 'tap'
import { type TimelineSource, timelineBars } from '#workflows'

const NAMED = { workflow: 'w', activity: 'pay', activity_id: 'w-0' }
const SOURCE: TimelineSource = {
  run: { workflow: 'w', status: 'running', start: 0, end: null, error: null },
  journal: [],
  starts: [],
  waits: [],
  signals: [],
  children: [],
  waitingFor: null
}
const bars = (source: Partial<TimelineSource>) =>
  timelineBars({ ...SOURCE, ...source }).map(({ lane, start, end, state, attempt }) =>
    [lane, start, end, state, attempt].join(' ')
  )

t.test('a retried activity has a bar for each attempt and for each wait between them', async t => {
  const begun = [
    { at: 10, entry: { event: 'ActivityTask', ...NAMED } },
    { at: 10, entry: { event: 'ActivityStarted', ...NAMED } },
    { at: 15, entry: { event: 'ActivityAttemptFailed', ...NAMED, attempt: 1, max_attempts: 3, error: 'no' } },
    { at: 15, entry: { event: 'ActivityRetryScheduled', ...NAMED, attempt: 1, next_attempt: 2, delay_ms: 100 } }
  ]
  const first = { step: 'w-0', attempt: 1, at: 10 }
  const wait = { ...SOURCE, journal: begun, starts: [first] }
  t.same(bars(wait), ['w 0  running ', 'pay (w-0) 10 15 failed 1', 'pay (w-0) 15  retrying 2'])
  const second = [first, { step: 'w-0', attempt: 2, at: 117 }]
  t.same(
    bars({ ...wait, starts: second }),
    ['w 0  running ', 'pay (w-0) 10 15 failed 1', 'pay (w-0) 15 117 retrying 2', 'pay (w-0) 117  running 2'],
    'the second attempt runs'
  )
  const completed = { at: 130, entry: { event: 'ActivityCompleted', ...NAMED } }
  t.same(
    bars({
      journal: [...begun, completed],
      starts: second,
      run: { ...SOURCE.run, status: 'completed', end: 140 }
    }),
    ['w 0 140 completed ', 'pay (w-0) 10 15 failed 1', 'pay (w-0) 15 117 retrying 2', 'pay (w-0) 117 130 completed 2']
  )
})

t.test('an attempt that ended with its process is interrupted, and runs again', async t => {
  t.same(
    bars({
      journal: [
        { at: 10, entry: { event: 'ActivityStarted', ...NAMED } },
        { at: 500, entry: { event: 'ActivityAttemptRecovered', ...NAMED, resume_attempt: 1 } },
        { at: 520, entry: { event: 'ActivityCompleted', ...NAMED } },
        { at: 900, entry: { event: 'ActivityCompleted', ...NAMED, replayed: true } }
      ],
      starts: [{ step: 'w-0', attempt: 1, at: 500 }]
    }),
    ['w 0  running ', 'pay (w-0) 10 500 interrupted 1', 'pay (w-0) 500 520 completed 1']
  )
})

t.test('timers, signals and child runs have bars; those of an ended run are closed', async t => {
  const named = (activity: string, activity_id: string) => ({ workflow: 'w', activity, activity_id })
  const source: Partial<TimelineSource> = {
    journal: [
      { at: 1, entry: { event: 'ActivityStarted', ...named('workflow_wait', 'w-0') } },
      { at: 61, entry: { event: 'ActivityCompleted', ...named('workflow_wait', 'w-0') } },
      { at: 62, entry: { event: 'BranchDecision', ...named('workflow.version', 'version:a'), branch: 'a=2' } },
      { at: 63, entry: { event: 'ActivityStarted', ...named('workflow_wait_signal', 'w-1') } }
    ],
    waits: [{ step: 'w-0', at: 1, due: 60 }],
    signals: [{ key: 'late', at: 70, consumed: null }],
    children: [{ runId: 'r/w-2', workflow: 'child', status: 'running', start: 64, end: null }],
    waitingFor: 'paid'
  }
  const ended = { ...SOURCE.run, status: 'cancelled', end: 100 } as const
  const fixed = ['timer w-0 1 61 completed ', 'workflow.version (version:a) 62 62 completed ']
  t.same(bars(source), [
    'w 0  running ',
    ...fixed,
    'signal wait w-1 63  waiting ',
    'workflow child 64  running ',
    'signal late 70  received '
  ])
  t.same(bars({ ...source, run: ended }).slice(0, 4), [
    'w 0 100 cancelled ',
    ...fixed,
    'signal wait w-1 63 100 cancelled '
  ])
  const wait = timelineBars({ ...SOURCE, ...source }).find(({ lane }) => lane === 'signal wait w-1')
  t.equal(wait?.label, 'for paid')
})
