import { databaseStore, languageCompiler } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { gitDiff, gitDiffHandler, gitStatus, gitStatusHandler } from './git-operations.ts'
import { repoHistory, repoHistoryHandler } from './history.ts'
import { indexStatusHandler, repoIndexStatus } from './index-status.ts'
import { modulesHandler, workspaceModules } from './modules.ts'
import { getPreference, getPreferenceHandler, setPreference, setPreferenceHandler } from './preferences.ts'
import { validateFile, validateFileHandler, validateSource, validateSourceHandler } from './validate-operations.ts'

export default definePlugin({
  name: 'workspace',
  summary: 'Git state, checks of files, modules and preferences of the project',
  // Not by reference: the services of references are not started for a command.
  optional: { database: databaseStore, compiler: languageCompiler },
  operations: [
    gitStatus,
    gitDiff,
    validateFile,
    validateSource,
    workspaceModules,
    repoIndexStatus,
    repoHistory,
    setPreference,
    getPreference
  ],
  permissions: { fsRead: ['.'], childProcess: true, worker: true },
  activate(ctx, { database, compiler }) {
    const { projectRoot } = ctx
    ctx.implement(gitStatus, gitStatusHandler(projectRoot))
    ctx.implement(gitDiff, gitDiffHandler(projectRoot))
    ctx.implement(validateFile, validateFileHandler(projectRoot, compiler))
    ctx.implement(validateSource, validateSourceHandler(compiler))
    ctx.implement(workspaceModules, modulesHandler(projectRoot))
    ctx.implement(repoHistory, repoHistoryHandler(projectRoot))
    ctx.implement(repoIndexStatus, indexStatusHandler(projectRoot, database))
    ctx.implement(setPreference, setPreferenceHandler(database))
    ctx.implement(getPreference, getPreferenceHandler(database))
  }
})
