import { errorTable } from '@svc/plugin-sdk'

export const webErrors = errorTable({
  WEB_BUNDLE_FAILED: { message: 'The pages of a program cannot be bundled.', status: 422 },
  WEB_RUNTIME_MISSING: { message: 'The libraries of pages were not built.', status: 500 }
})
