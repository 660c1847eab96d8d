import { errorTable } from '@svc/plugin-sdk'

export const stubCheckErrors = errorTable({
  STB_BASELINE_INVALID: { message: 'A baseline cannot be read or written.', status: 422 },
  STB_BASELINE_UNKNOWN: { message: 'No baseline of that name was saved for the path.', status: 404 },
  STB_BUDGET_INVALID: { message: 'A budget file cannot be read.', status: 422 },
  STB_CLOSED: { message: 'The plugin ended before the scan did.', status: 503 },
  STB_DATABASE_MISSING: { message: 'Named baselines and imported suppressions need the database.', status: 503 },
  STB_FINDINGS_INVALID: { message: 'A file of findings cannot be read.', status: 422 },
  STB_FIX_REFUSED: {
    message: 'Fixes cannot be written: in safe mode, or for a file that changed after the scan.',
    status: 409
  },
  STB_GIT_FAILED: { message: 'git could not list the changed files.', status: 500 },
  STB_OPTIONS_CONFLICT: { message: 'Options cannot be combined, or lack another one.', status: 400 },
  STB_PATH_OUTSIDE: { message: 'A path is outside of the project.', status: 403 },
  STB_PATH_UNREADABLE: { message: 'A file or folder cannot be read.', status: 404 },
  STB_RULE_UNKNOWN: { message: 'No rule and no group of rules has that id.', status: 400 },
  STB_SUPPRESSIONS_INVALID: { message: 'A file of suppressions cannot be read.', status: 422 },
  STB_THREAD_ENDED: { message: 'A thread of the scan could not start, or ended twice at the same file.', status: 500 },
  STB_TIMINGS_INVALID: { message: 'Build lanes, times or budgets cannot be read, or a lane failed.', status: 422 }
})
