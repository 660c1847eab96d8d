import { errorTable } from '@svc/plugin-sdk'

export const stubCheckErrors = errorTable({
  STB_BASELINE_INVALID: { message: 'A baseline cannot be read.', status: 422 },
  STB_BASELINE_UNKNOWN: { message: 'A baseline of that name was never saved.', status: 404 },
  STB_BUDGET_INVALID: { message: 'A budget file cannot be read.', status: 422 },
  STB_CLOSED: { message: 'The stub check ended before the scan did.', status: 503 },
  STB_DATABASE_MISSING: {
    message: 'Named baselines and tasks require the database, which no plugin provides.',
    status: 503
  },
  STB_FINDINGS_INVALID: { message: 'A file of findings cannot be read.', status: 422 },
  STB_FIX_REFUSED: { message: 'Fixes cannot be written.', status: 409 },
  STB_GIT_FAILED: { message: 'git could not list the changed files.', status: 500 },
  STB_OPTIONS_CONFLICT: { message: 'Options cannot be combined, or lack another one.', status: 400 },
  STB_PATH_OUTSIDE: { message: 'A path is outside of the project.', status: 403 },
  STB_PATH_UNREADABLE: { message: 'A file or folder cannot be read.', status: 404 },
  STB_RULE_UNKNOWN: { message: 'No rule has that id, and no group of rules.', status: 400 },
  STB_SUPPRESSIONS_INVALID: { message: 'A file of suppressions cannot be read.', status: 422 },
  STB_THREAD_ENDED: { message: 'A thread of the scan ended unexpectedly.', status: 500 },
  STB_TIMINGS_INVALID: { message: 'A file of build timings or budgets cannot be read.', status: 422 }
})
