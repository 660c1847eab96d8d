import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { exitCodeOf } from '#cli'

const of = (code: string, status = 500): number => exitCodeOf(new SvcError(code, 'x', { status }))

t.test('the exit code depends on the code of an error or on its status', async t => {
  t.equal(exitCodeOf(new Error('unforeseen')), 1)
  t.equal(of('KRN_CYCLE'), 1)
  t.equal(of('OPR_INPUT_INVALID', 400), 2)
  t.equal(of('WORDS_NONE', 422), 2)
  t.equal(of('CFG_KEY_UNKNOWN'), 3)
  t.equal(of('CFG_SETTING_UNKNOWN', 404), 4)
  t.equal(of('OPR_UNKNOWN', 404), 4)
  t.equal(of('OPR_FORBIDDEN', 403), 5)
  t.equal(of('DMN_UNAUTHORIZED', 401), 5)
  t.equal(of('CLI_DIRECTORY_EXISTS', 409), 6)
  t.equal(of('CLI_NO_DAEMON', 503), 7)
  t.equal(of('OPR_TIMEOUT', 504), 7)
  t.equal(of('OPR_CANCELLED', 499), 130)
})
