import { errorTable } from '@svc/plugin-sdk'

export const searchErrors = errorTable({
  SRH_DATABASE_MISSING: { message: 'Memories and knowledge need the database.', status: 503 },
  SRH_FILE_UNREADABLE: { message: 'A file of the project cannot be read.', status: 404 },
  SRH_INDEX_CLOSED: { message: 'The index is closed because its plugin ends.', status: 503 },
  SRH_INDEX_THREAD_ENDED: { message: 'The thread that reads files for the index ended.', status: 500 },
  SRH_MEMORY_UNKNOWN: { message: 'No memory has that key.', status: 404 },
  SRH_QUERY_INVALID: { message: 'A search query is empty or too long.', status: 400 },
  SRH_SERVER_INVALID: { message: 'A search server returned an invalid answer.', status: 502 },
  SRH_SERVER_UNREACHABLE: { message: 'A search server cannot be reached, or refused the request.', status: 502 },
  SRH_SOURCE_INVALID: { message: 'A source of the index returned something else than documents.', status: 502 },
  SRH_SOURCE_TIMEOUT: { message: 'A source of the index exceeded its time limit.', status: 504 },
  SRH_TIER_INVALID: { message: 'A tier of the search returned something else than hits.', status: 502 },
  SRH_TIER_TIMEOUT: { message: 'A tier of the search exceeded its time limit.', status: 504 }
})
