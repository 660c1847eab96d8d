/** Topic that is announced after each committed change of a workflow run. */
export const WORKFLOWS_TOPIC = 'app-runtime.workflows'
