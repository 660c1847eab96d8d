import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the plugin workspace. */
export const workspaceErrors = errorTable({
  WSP_GIT_MISSING: { message: 'The program git is not installed.', status: 503 },
  WSP_NOT_REPOSITORY: { message: 'The project is not in a git repository.', status: 409 },
  WSP_GIT_FAILED: { message: 'A git command failed.', status: 502 },
  WSP_GIT_TIMEOUT: { message: 'A git command exceeded its time limit.', status: 504 },
  WSP_REVISION_UNKNOWN: { message: 'The repository has no such revision.', status: 404 },
  WSP_FILE_REFUSED: { message: 'A file is outside the project, protected, too long or not readable.', status: 422 },
  WSP_LANGUAGE_UNKNOWN: { message: 'No check exists for the language of the file.', status: 422 },
  WSP_NO_DATABASE: { message: 'The project has no database.', status: 503 },
  WSP_PREFERENCE_UNKNOWN: { message: 'The preference is not set.', status: 404 }
})
