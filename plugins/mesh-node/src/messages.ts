/** Work of a workflow or another client; the answer is `job_result` or `job_fail`, which is signed. */
export const JOB_SUBMIT = 'job_submit'
export const JOB_RESULT = 'job_result'
export const JOB_FAIL = 'job_fail'

/** Returns the key of a `job_submit`: a message that its sender repeats is the same job. */
export function jobKey(sender: string, key: string | number): string {
  return `job-${sender}-${key}`
}
