def reachable(graph, start):
    seen = {start}
    open_nodes = [start]
    while open_nodes:
        node = open_nodes.pop()
        for other in graph.get(node, []):
            if other not in seen:
                seen.add(other)
                open_nodes.append(other)
    return seen


def shortest(graph, start, goal):
    paths = [[start]]
    try:
        while paths:
            path = paths.pop(0)
            if path[-1] == goal:
                return path
            paths += [path + [node] for node in graph[path[-1]] if node not in path]
    except KeyError as error:
        raise ValueError("no node is called %s" % error)
    return None
