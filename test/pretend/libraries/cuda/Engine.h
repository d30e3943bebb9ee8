// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of the stand-in: work waits in its stream until
// the host asks for it, then one thread for each GPU does it in an order that
// streams and events allow and DLC_STANDIN_SEED chooses. So a missing event
// shows as a wrong result; and ranges that unordered work touches are reported.
#pragma once

#include "test/pretend/libraries/Standin.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace dlc::standin {

struct Stream;
struct Event;
struct GraphExec;

using Run = std::function<CUresult()>;

// What the calling thread has waited for, its context and its capture, for a
// thread that a library starts.
void *shareOrder();
void adoptOrder(void *order);

Stream *createStream(); // on the GPU whose context is current
// Those of a GPU are no more, nor are its events.
void forgetStreams(int device);
bool isCaptured(CUstream stream);
CUresult destroyStream(Stream *stream);
CUresult synchronize(Stream *stream, std::unique_lock<std::recursive_mutex> &);

void wantAll(); // work of all streams

// Checks the ranges, orders the work, and does it when it is asked for.
CUresult enqueue(Stream *stream, const std::string &name, Run run,
                 std::vector<Access> accesses);
CUresult enqueueWork(CUstream stream, const Work &work);

Event *createEvent(bool isTimed);
CUresult destroyEvent(Event *event);
CUresult recordEvent(Event *event, Stream *stream);
CUresult waitEvent(Stream *stream, Event *event);
CUresult queryEvent(Event *event);
CUresult elapsed(float *milliseconds, Event *start, Event *end);
CUresult synchronizeEvent(Event *event,
                          std::unique_lock<std::recursive_mutex> &);

// --- capture ---

bool capturing(); // this thread, on any stream
int &captures();  // how many restrict this thread
// Success unless the thread captures: then `call` is not allowed.
CUresult checkNotCapturing(const char *call);
CUresult beginCapture(Stream *stream, bool thisThreadOnly);
CUresult endCapture(Stream *stream, CUgraph *graph);
CUresult instantiate(CUgraph graph, GraphExec **executable);
CUresult launch(GraphExec *executable, Stream *stream);
CUresult destroyGraph(CUgraph graph);
CUresult destroyExecutable(GraphExec *executable);
size_t nodesOf(GraphExec *executable);

int driverVersion(); // 13000 for CUDA 13.0

// --- modules ---

void registerKernel(const char *name, KernelFunction function,
                    KernelAccesses accesses);

} // namespace dlc::standin
